#include "policy/seam/registry.hpp"

#include "policy/example_policy.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weft {
namespace {

std::string message_of(const std::string& spec) {
    try {
        make_policy(spec);
    } catch (const error& e) { return e.what(); }
    return "taken";
}

TEST(policy_registry, every_built_in_policy_is_complete) {
    std::set<std::string_view> names;
    for (const policy_entry& e : policy_list()) {
        EXPECT_TRUE(names.insert(e.name).second) << e.name << " is there twice";
        EXPECT_FALSE(e.summary.empty()) << e.name;
        EXPECT_FALSE(e.source.empty()) << e.name;
        EXPECT_FALSE(e.helps.empty()) << e.name;
        std::set<std::string_view> keys;
        for (const knob& k : e.knobs) {
            EXPECT_TRUE(keys.insert(k.key).second) << e.name << ": knob " << k.key << " is there twice";
            EXPECT_FALSE(k.help.empty()) << e.name << ": " << k.key;
            if (k.default_value.empty()) continue;
            // A default value is allowed by its own table.
            EXPECT_NO_THROW(
                knob_values(e.name, e.knobs, std::string(k.key) + "=" + std::string(k.default_value)));
        }
        EXPECT_EQ(resolve_policy(e.name).entry, &e);
    }
    for (const char* const name : {"serial", "steal", "steal-parent-first", "share", "near", "chaos"}) {
        EXPECT_TRUE(names.contains(name)) << name;
        EXPECT_NE(make_policy(name), nullptr) << name;
    }
}

TEST(policy_registry, makes_by_specification) {
    EXPECT_NE(make_policy("steal-parent-first:order=fifo"), nullptr);
    EXPECT_NE(make_policy("steal:zone=reported"), nullptr);
    EXPECT_NE(make_policy("near:tries=9"), nullptr);
    EXPECT_EQ(message_of("near:tries=0"),
              "policy 'near': bad value of knob 'tries'; given: '0'; allowed: 1..1000");
    EXPECT_NE(message_of("serial:order=lifo").find("allowed: no knobs"), std::string::npos);
}

TEST(policy_registry, an_unknown_name_is_answered_with_all_names) {
    const std::string message = message_of("quicksilver");
    EXPECT_EQ(message.find("unknown policy; given: 'quicksilver'; allowed: serial, steal,"), 0U) << message;
    for (const policy_entry& e : policy_list()) {
        EXPECT_NE(message.find(e.name), std::string::npos) << e.name << " is not in: " << message;
    }
}

TEST(policy_registry, a_slip_is_answered_with_the_nearest_name) {
    const std::pair<const char*, const char*> slips[] = {{"steel", "steal"},
                                                         {"stela:zone=lazy", "steal"},
                                                         {"Near", "near"},
                                                         {"shard", "share"},
                                                         {"steal_parent_first", "steal-parent-first"},
                                                         {"steal-parent", "steal-parent-first"},
                                                         {"seriell", "serial"}};
    for (const auto& [slip, meant] : slips) {
        const std::string expected = std::string("unknown policy, did you mean '") + meant + "'?; given: '";
        EXPECT_EQ(message_of(slip).find(expected), 0U) << message_of(slip);
    }
}

std::unique_ptr<policy> make_example(const knob_values& values) {
    return policies::last_victim_entry.make(values);
}

TEST(policy_registry, a_program_may_bring_its_own) {
    const auto before = policy_list();
    ASSERT_THROW(resolve_policy("last-victim"), error);
    register_policy(policies::last_victim_entry);
    EXPECT_NE(make_policy("last-victim:patience=3"), nullptr);
    EXPECT_EQ(policy_list().size(), before.size() + 1);
    EXPECT_EQ(policy_list().back().name, "last-victim");
    EXPECT_EQ(before.data(), policy_list().data()); // what was listed before still stands
    EXPECT_NE(message_of("lastvictim").find("did you mean 'last-victim'?"), std::string::npos);
    EXPECT_THROW(register_policy(policies::last_victim_entry), error);
}

TEST(policy_registry, malformed_and_taken_names_are_refused) {
    for (const char* const name : {"", "Steal", "two words", "a:b", "a,b", "steal"}) {
        EXPECT_THROW(register_policy(
                         {.name = name, .summary = "s", .source = "s", .knobs = {}, .make = &make_example}),
                     error)
            << name;
    }
}

TEST(policy_registry, threads_may_register_and_look_at_once) {
    constexpr int each = 20;
    constexpr int threads = 4;
    static std::deque<std::string> names;
    for (int i = 0; i < threads * each; ++i) names.push_back("own-" + std::to_string(i));
    const std::size_t before = policy_list().size();
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t) {
        running.emplace_back([t] {
            for (int i = 0; i < each; ++i) {
                const std::string& name = names[static_cast<std::size_t>(t * each + i)];
                register_policy({.name = name,
                                 .summary = "s",
                                 .source = "s",
                                 .knobs = policies::last_victim_entry.knobs,
                                 .make = &make_example});
                EXPECT_NE(make_policy(name), nullptr);
                for (const policy_entry& e : policy_list()) EXPECT_FALSE(e.name.empty());
            }
        });
    }
    for (std::thread& t : running) t.join();
    EXPECT_EQ(policy_list().size(), before + threads * each);
    for (const std::string& name : names) EXPECT_EQ(resolve_policy(name).entry->name, name);
}

} // namespace
} // namespace weft
