// Policies in shared objects: what is loaded, how it runs, and how each mistake is told.
#include "policy/seam/load_module.hpp"
#include "policy/seam/module.hpp"
#include "policy/seam/registry.hpp"

#include <weft/join.hpp>
#include <weft/runtime.hpp>

#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace weft {
namespace {

std::string module_file(const std::string& name) {
    return std::string(WEFT_TEST_MODULES) + "/" + name + ".so";
}

std::string message_of(const std::string& spec) {
    try {
        make_policy(spec);
    } catch (const error& e) { return e.what(); }
    return "taken";
}

long fib(int n) {
    if (n < 2) return n;
    auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

long run_fib(const std::string& engine, const std::string& machine, const std::string& spec) {
    runtime_options o;
    o.engine = engine;
    o.machine = machine;
    o.policy = spec;
    o.workers = 4;
    runtime rt(o);
    EXPECT_EQ(rt.policy(), spec);
    return rt.run([] { return fib(15); });
}

TEST(policy_module, runs_in_both_engines) {
    const std::string spec = module_file("round_robin") + ":round-robin:step=2";
    EXPECT_EQ(run_fib("threads", "", spec), 610);
    EXPECT_EQ(run_fib("model", "numa:2 core:2 pu:1", spec), 610);
}

TEST(policy_module, only_its_policy_needs_no_name) {
    EXPECT_EQ(run_fib("model", "core:4 pu:1", module_file("round_robin")), 610);
    const std::string told = message_of(module_file("pair"));
    EXPECT_NE(told.find("has several policies; given: no name; allowed: "), std::string::npos) << told;
    EXPECT_NE(told.find("of wrapper, picky"), std::string::npos) << told;
}

TEST(policy_module, a_path_may_be_relative) {
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path(WEFT_TEST_MODULES);
    EXPECT_NE(make_policy("./round_robin.so:round-robin"), nullptr);
    EXPECT_NE(make_policy("round_robin.so:round-robin:step=7"), nullptr);
    std::filesystem::current_path(before);
}

TEST(policy_module, builds_on_policies_of_the_library) {
    EXPECT_EQ(run_fib("threads", "", module_file("pair") + ":wrapper"), 610);
    EXPECT_EQ(run_fib("threads", "", module_file("pair") + ":wrapper:of=near:tries=2"), 610);
    EXPECT_EQ(run_fib("threads", "", "chaos:of=" + module_file("round_robin") + ":round-robin:step=2"), 610);
}

TEST(policy_module, its_errors_are_those_of_the_library) {
    EXPECT_THROW(run_fib("threads", "", module_file("pair") + ":picky"), error);
}

TEST(policy_module, knobs_and_names_are_checked) {
    const std::string file = module_file("round_robin");
    EXPECT_EQ(message_of(file + ":round-robin:step=0"),
              "policy 'round-robin': bad value of knob 'step'; given: '0'; allowed: 1..1000");
    EXPECT_EQ(message_of(file + ":round-robn"),
              "policy module '" + file +
                  "' has no such policy, did you mean 'round-robin'?; given: "
                  "'round-robn'; allowed: round-robin");
    EXPECT_NE(message_of(file + ":").find("a policy has a name"), std::string::npos);
    EXPECT_NE(message_of(file + ":round-robin:").find("expected knobs behind the colon"), std::string::npos);
    EXPECT_NE(message_of(module_file("pair") + ":wrapper:of=nera").find("did you mean 'near'?"),
              std::string::npos);
}

TEST(policy_module, what_is_no_module_is_told) {
    const auto expect = [](const std::string& file, const std::string& words) {
        const std::string told = message_of(file + ":x");
        EXPECT_EQ(told.find("policy module '" + file + "' "), 0U) << told;
        EXPECT_NE(told.find(words), std::string::npos) << told;
    };
    expect(module_file("not_there"), "is not there");
    expect(WEFT_TEST_MODULES "/", "is not there");
    expect(module_file("no_module"), "is no policy module; given: no symbol 'weft_policy_module'");
    expect(module_file("no_policies"), "has no policy");
    expect(module_file("undefined_symbol"), "a_function_that_is_not_defined");
    expect(module_file("other_version"), "was built for another version of Weft; given: version 4711 of the");
    expect(module_file("other_layout"), "was built with another standard library");
}

TEST(policy_module, files_of_other_kinds_are_told) {
    const auto folder = std::filesystem::path(testing::TempDir());
    const auto text = folder / "text.so", other = folder / "other_processor.so";
    std::ofstream(text) << "this is a text\n";
    EXPECT_NE(message_of(text.string()).find("is no shared object"), std::string::npos);
    std::ifstream in(module_file("round_robin"), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    ASSERT_GT(bytes.size(), 64U);
    bytes[18] = static_cast<char>(bytes[18] == 21 ? 22 : 21); // e_machine: PowerPC, or S/390
    std::ofstream(other, std::ios::binary) << bytes;
    EXPECT_NE(message_of(other.string())
                  .find("is for other processors; given: ELF class 2, byte order 1, machine 21"),
              std::string::npos)
        << message_of(other.string());
    std::filesystem::remove(text);
    std::filesystem::remove(other);
}

/// Without comments and white space, so that only a change of the code changes it.
std::uint32_t sum_of_code(const std::string& path) {
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/" + path);
    EXPECT_TRUE(in.is_open()) << path;
    std::uint32_t sum = 2166136261U;
    for (std::string line; std::getline(in, line);)
        for (const char c : line.substr(0, line.find("//")))
            if (std::isspace(static_cast<unsigned char>(c)) == 0)
                sum = (sum ^ static_cast<unsigned char>(c)) * 16777619U;
    return sum;
}

TEST(policy_module, a_new_seam_has_a_new_version) {
    EXPECT_EQ(policy_abi, 8U);
    const char* const advice =
        "if the hooks, or what they get, have changed: raise policy_abi in module.hpp and rename "
        "the namespace policy_v..., then write the new sum here";
    EXPECT_EQ(sum_of_code("src/policy/seam/policy.hpp"), 1021616861U) << advice;
    EXPECT_EQ(sum_of_code("src/policy/seam/entry.hpp"), 4197037192U) << advice;
}

} // namespace
} // namespace weft
