// Policies that stand in front of another one: every hook of the seam reaches it, or is answered for a reason.
#include "engine/worker/task_watch.hpp"
#include "policy/fake_context.hpp"
#include "policy/recording.hpp"
#include "policy/seam/registry.hpp"

#include "machine/machine.hpp"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace weft {
namespace {

using test::fake_context;

/// Notes which hooks were called, and has an answer of its own to each.
struct spy final : policy {
    static inline std::multiset<std::string> called{};

    requirements attach(const machine&, policy_context&) override { return called.insert("attach"), need(); }
    placement ready(worker_id w, task&, ready_reason) override {
        return called.insert("ready"), placement{w, {1, 2}, 1};
    }
    decision next(worker_id, bool) override { return called.insert("next"), decision{nullptr, 2, true, 3}; }
    workers victims(worker_id) override { return called.insert("victims"), workers{1, 2}; }
    elastic_place mold(worker_id, task&) override { return called.insert("mold"), elastic_place{1, 2}; }
    void assemble(worker_id, std::span<task* const>, elastic_place) override { called.insert("assemble"); }
    bool keeps_share(worker_id) override { return called.insert("keeps_share"), true; }
    spawn_order spawn(worker_id, task&, task&) override {
        return called.insert("spawn"), spawn_order::parent_first;
    }
    bool queues_child(worker_id) override { return called.insert("queues_child"), true; }
    int pieces(worker_id, task&) override { return called.insert("pieces"), 7; }
    void group_begin(worker_id, task&, group&) override { called.insert("group_begin"); }
    after_wait group_wait(worker_id, task&, group&) override {
        return called.insert("group_wait"), after_wait::requeue;
    }
    void group_end(worker_id, task&, group&) override { called.insert("group_end"); }
    void started(worker_id, task&) override { called.insert("started"); }
    void blocked(worker_id, task&, ready_reason) override { called.insert("blocked"); }
    void resumed(worker_id, task&) override { called.insert("resumed"); }
    void finished(worker_id, task&, const usage&) override { called.insert("finished"); }
    placement message(worker_id w, worker_id, int, task*) override {
        return called.insert("message"), placement{w, {2, 3}, 2};
    }
    void lock_waits(worker_id, task&, std::uint32_t) override { called.insert("lock_waits"); }
    void lock_taken(worker_id, task&, std::uint32_t) override { called.insert("lock_taken"); }
    void lock_released(worker_id, task&, std::uint32_t) override { called.insert("lock_released"); }
    void iteration(worker_id, task&, int) override { called.insert("iteration"); }
    void graph_grew(worker_id, const graph_view&) override { called.insert("graph_grew"); }
    void resized(workers) override { called.insert("resized"); }
    bool gives_way(worker_id, const task&) override { return called.insert("gives_way"), false; }
    void tick(time_ns) override { called.insert("tick"); }
    root_zone run_begins(const task&, time_ns) override {
        return called.insert("run_begins"), root_zone{true, true, true};
    }
    void run_ended(time_ns) override { called.insert("run_ended"); }
    void child_detached(worker_id) override { called.insert("child_detached"); }
    void child_settled(worker_id) override { called.insert("child_settled"); }
    void turned_away(worker_id) override { called.insert("turned_away"); }
    void keep() noexcept override { called.insert("keep"); }
    policy_choices choices() override {
        return called.insert("choices"), policy_choices{.places = {}, .memory = "spied"};
    }

    static requirements need() {
        return {.demotable = true, .resizable = true, .most_width = 2, .tick = 100};
    }
};

const policy_entry spy_entry{
    .name = "spy",
    .summary = "notes which hooks are called",
    .source = "none",
    .knobs = {},
    .make = [](const knob_values&) -> std::unique_ptr<policy> { return std::make_unique<spy>(); },
};

struct no_graph final : graph_view {
    std::uint64_t id() const noexcept override { return 1; }
    std::uint32_t size() const noexcept override { return 0; }
    std::uint32_t first_new() const noexcept override { return 0; }
    const hints& hint(std::uint32_t) const noexcept override { return none; }
    int bottom_level(std::uint32_t) const noexcept override { return 0; }
    void predecessors(std::uint32_t, void (*)(void*, std::uint32_t), void*) const override {}
    void successors(std::uint32_t, void (*)(void*, std::uint32_t), void*) const override {}
    hints none{};
};

/// Calls each hook of a policy, and gives the answer as a text.
class caller {
public:
    explicit caller(policy& of) : p_(of) {
        share_.share_ = true;
        child_.parent_ = &task_;
    }

    std::map<std::string, std::function<std::string()>> hooks() {
        const auto none = [](auto&& call) { return call(), std::string(); };
        const auto put = [](const placement& at) {
            return fmt::format("{} {} {} {}", at.at, at.who.first, at.who.last, at.near);
        };
        return {
            {"attach", [=, this] { return none([&] { p_.attach(machine(), context_); }); }},
            {"ready", [=, this] { return put(p_.ready(0, task_, ready_reason::unblocked)); }},
            {"next",
             [=, this] {
                 const decision d = p_.next(0, false);
                 return fmt::format("{} {} {} {}", d.t == nullptr, d.from, d.ask, d.moved);
             }},
            {"victims", [=, this] { return put({0, p_.victims(0)}); }},
            {"mold",
             [=, this] {
                 const elastic_place at = p_.mold(0, task_);
                 return fmt::format("{} {}", at.leader, at.width);
             }},
            {"assemble",
             [=, this] {
                 task* const shares[] = {&task_, &share_};
                 return none([&] { p_.assemble(0, shares, {1, 2}); });
             }},
            {"keeps_share", [=, this] { return fmt::format("{}", p_.keeps_share(0)); }},
            {"spawn", [=, this] { return fmt::format("{}", static_cast<int>(p_.spawn(0, task_, child_))); }},
            {"queues_child", [=, this] { return fmt::format("{}", p_.queues_child(0)); }},
            {"pieces", [=, this] { return fmt::format("{}", p_.pieces(0, task_)); }},
            {"group_begin", [=, this] { return none([&] { p_.group_begin(0, task_, group_); }); }},
            {"group_wait",
             [=, this] { return fmt::format("{}", static_cast<int>(p_.group_wait(0, task_, group_))); }},
            {"group_end", [=, this] { return none([&] { p_.group_end(0, task_, group_); }); }},
            {"started", [=, this] { return none([&] { p_.started(0, task_); }); }},
            {"blocked", [=, this] { return none([&] { p_.blocked(0, task_, ready_reason::unblocked); }); }},
            {"resumed", [=, this] { return none([&] { p_.resumed(0, task_); }); }},
            {"finished", [=, this] { return none([&] { p_.finished(0, child_, {}); }); }},
            {"message", [=, this] { return put(p_.message(0, 1, 5, nullptr)); }},
            {"lock_waits", [=, this] { return none([&] { p_.lock_waits(0, task_, 3); }); }},
            {"lock_taken", [=, this] { return none([&] { p_.lock_taken(0, task_, 3); }); }},
            {"lock_released", [=, this] { return none([&] { p_.lock_released(0, task_, 3); }); }},
            {"iteration", [=, this] { return none([&] { p_.iteration(0, task_, 4); }); }},
            {"graph_grew", [=, this] { return none([&] { p_.graph_grew(0, no_graph()); }); }},
            {"resized", [=, this] { return none([&] { p_.resized({0, 2}); }); }},
            {"gives_way", [=, this] { return fmt::format("{}", p_.gives_way(0, task_)); }},
            {"tick", [=, this] { return none([&] { p_.tick(1000); }); }},
            {"run_begins",
             [=, this] {
                 const root_zone z = p_.run_begins(task_, 0);
                 return fmt::format("{} {} {}", z.lazy, z.graph_tasks, z.molds);
             }},
            {"run_ended", [=, this] { return none([&] { p_.run_ended(9); }); }},
            {"child_detached", [=, this] { return none([&] { p_.child_detached(0); }); }},
            {"child_settled", [=, this] { return none([&] { p_.child_settled(0); }); }},
            {"turned_away", [=, this] { return none([&] { p_.turned_away(0); }); }},
            {"keep", [=, this] { return none([&] { p_.keep(); }); }},
            {"choices", [=, this] { return p_.choices().memory; }},
        };
    }

private:
    policy& p_;
    fake_context context_{4};
    test::task_with_bytes task_, share_, child_;
    group group_;
};

/// The hooks in the text of the seam.
std::set<std::string> hooks_of_the_seam() {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/src/policy/seam/policy.hpp");
    std::string text(std::istreambuf_iterator<char>(in), {});
    text = text.substr(text.find("struct policy {"));
    std::set<std::string> found;
    const std::regex hook(R"(virtual [\w:]+ (\w+)\()");
    for (auto i = std::sregex_iterator(text.begin(), text.end(), hook); i != std::sregex_iterator(); ++i)
        found.insert((*i)[1]);
    return found;
}

/// `answered`: the hooks that the policy itself answers, and why.
void expect_forwarded(policy& in_front, const std::map<std::string, std::string>& answered) {
    spy direct;
    caller wrapped(in_front);
    for (const auto& [name, call] : wrapped.hooks()) {
        if (answered.contains(name)) continue;
        caller plain(direct);
        const std::string expected = plain.hooks().at(name)();
        spy::called.clear();
        const std::string answer = call();
        EXPECT_TRUE(spy::called.contains(name)) << name;
        EXPECT_EQ(answer, expected) << name;
    }
}

class policy_forwarding : public testing::Test {
protected:
    static void SetUpTestSuite() { register_policy(spy_entry); }
    fake_context context{4};
};

TEST_F(policy_forwarding, this_file_knows_all_hooks) {
    spy any;
    std::set<std::string> known;
    caller calls(any);
    for (const auto& [name, call] : calls.hooks()) known.insert(name);
    EXPECT_EQ(known, hooks_of_the_seam());
}

TEST_F(policy_forwarding, by_auto) {
    const auto p = make_policy("auto:of=spy,memory=off");
    const requirements need = p->attach(machine(), context);
    EXPECT_EQ(need.tick, 100);
    EXPECT_EQ(need.most_width, 2);
    task root;
    for (int i = 0; i < 2; ++i) { // of steal
        EXPECT_FALSE(p->run_begins(root, 0).molds);
        p->run_ended(1000);
    }
    EXPECT_TRUE(p->run_begins(root, 0).molds); // of the spy
    expect_forwarded(*p, {{"attach", "it has attached all candidates, once"},
                          {"message", "candidates that send messages are refused"},
                          {"lock_waits", "candidates that are told of locks are refused"},
                          {"lock_taken", "likewise"},
                          {"lock_released", "likewise"},
                          {"run_begins", "candidates that follow runs are refused"},
                          {"run_ended", "likewise"},
                          {"child_detached", "likewise"},
                          {"child_settled", "likewise"},
                          {"turned_away", "likewise"},
                          {"keep", "the memory is its own"},
                          {"choices", "they are its own"}});
}

TEST_F(policy_forwarding, by_chaos) {
    const auto p = make_policy("chaos:hold=0,blind=0,delay=0,of=spy");
    p->attach(machine(), context);
    expect_forwarded(*p, {});
}

TEST_F(policy_forwarding, by_the_watch_for_snapshots) {
    spy of;
    engine::task_watch watch(of, context);
    expect_forwarded(watch, {});
}

} // namespace
} // namespace weft
