// An input that cannot be honoured is an error whose message says what was wrong, what was given and what is
// allowed. An input that is merely large is honoured.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/process/signal_claim.hpp"
#include "engine/support.hpp"
#include "engine/worker/worker.hpp"
#include "machine/load.hpp"
#include "machine/workers.hpp"

namespace weft {
namespace {

// ---- errors

struct bad_input {
    std::string name;
    runtime_options options;
    std::map<std::string, std::string> environment;
    std::vector<std::string> parts; ///< of the message
    std::string file = {};          ///< text of the machine file FILE
};

std::ostream& operator<<(std::ostream& out, const bad_input& b) { return out << b.name; }

runtime_options with_policy(std::string policy) {
    runtime_options o;
    o.policy = std::move(policy);
    return o;
}
runtime_options with_workers(int workers) {
    runtime_options o;
    o.workers = workers;
    return o;
}
runtime_options with_machine(std::string machine) {
    runtime_options o;
    o.machine = std::move(machine);
    return o;
}
runtime_options with_stack(std::size_t bytes) {
    runtime_options o;
    o.stack_bytes = bytes;
    return o;
}
runtime_options with_pin(std::string pin) {
    runtime_options o;
    o.pin = std::move(pin);
    return o;
}

runtime_options with_spin(long long microseconds) {
    runtime_options o;
    o.spin = std::chrono::microseconds(microseconds);
    return o;
}

const std::string file_name = testing::TempDir() + "bad_input_" + std::to_string(getpid()) + ".toml";

const std::vector<bad_input> bad_inputs = {
    {"unknown_policy",
     with_policy("teleport"),
     {},
     {"unknown policy", "teleport", "serial, steal", "share", "near"}},
    {"misspelt_policy", with_policy("stael"), {}, {"did you mean 'steal'?", "stael"}},
    {"unknown_policy_variable",
     {},
     {{"WEFT_POLICY", "teleport"}},
     {"unknown policy", "teleport", "serial, steal"}},
    {"unknown_knob",
     with_policy("steal-parent-first:color=red"),
     {},
     {"no knob 'color'", "color=red", "order (lifo, fifo"}},
    {"knob_of_a_policy_without", with_policy("serial:order=lifo"), {}, {"no knob 'order'", "no knobs"}},
    {"bad_knob_value",
     with_policy("steal-parent-first:order=random"),
     {},
     {"bad value of knob 'order'", "random", "lifo, fifo"}},
    {"number_out_of_range", with_policy("near:tries=0"), {}, {"bad value of knob 'tries'", "'0'", "1..1000"}},
    {"no_knob_behind_the_colon", with_policy("steal:"), {}, {"steal:", "NAME[:key=value,...]"}},
    {"unreadable_machine", with_machine("/nowhere/at/all.toml"), {}, {"/nowhere/at/all.toml"}},
    {"unreadable_machine_variable", {}, {{"WEFT_MACHINE", "/nowhere/at/all.xml"}}, {"/nowhere/at/all.xml"}},
    {"no_machine_at_all", with_machine("pack:two"), {}, {"pack:two"}},
    {"malformed_toml",
     with_machine("FILE"),
     {},
     {file_name + ":3: not TOML"},
     "# a machine\nname = \"x\"\ndescription = = 1\n"},
    {"unknown_key_in_toml",
     with_machine("FILE"),
     {},
     {file_name + ":3: colour: unknown key"},
     "# a machine\nname = \"x\"\ncolour = 1\n"},
    {"no_workers", with_workers(0), {}, {"number of workers", "workers = 0", "1 to 1024"}},
    {"negative_workers", with_workers(-1), {}, {"number of workers", "workers = -1", "1 to 1024"}},
    {"too_many_workers", with_workers(100'000), {}, {"number of workers", "100000", "1 to 1024"}},
    {"no_workers_variable",
     {},
     {{"WEFT_WORKERS", "0"}},
     {"number of workers", "WEFT_WORKERS=0", "1 to 1024"}},
    {"negative_workers_variable", {}, {{"WEFT_WORKERS", "-1"}}, {"WEFT_WORKERS=-1", "1 to 1024"}},
    {"many_workers_variable", {}, {{"WEFT_WORKERS", "100000"}}, {"WEFT_WORKERS=100000", "1 to 1024"}},
    {"huge_workers_variable",
     {},
     {{"WEFT_WORKERS", "99999999999999999999"}},
     {"WEFT_WORKERS=9999", "1 to 1024"}},
    {"words_for_workers",
     {},
     {{"WEFT_WORKERS", "abc"}},
     {"number of workers", "WEFT_WORKERS=abc", "1 to 1024"}},
    {"trailing_words_for_workers", {}, {{"WEFT_WORKERS", "4 cores"}}, {"WEFT_WORKERS=4 cores", "1 to 1024"}},
    {"small_stack", with_stack(100), {}, {"too small or too large", "stack_bytes = 100", "to 64G"}},
    {"large_stack",
     with_stack(std::size_t{1} << 50),
     {},
     {"too small or too large", "1125899906842624", "to 64G"}},
    {"small_stack_variable", {}, {{"WEFT_STACK", "1K"}}, {"WEFT_STACK=1K", "K, M or G"}},
    {"large_stack_variable", {}, {{"WEFT_STACK", "99999999G"}}, {"WEFT_STACK=99999999G", "to 64G"}},
    {"overflowing_stack",
     {},
     {{"WEFT_STACK", "18446744073709551615G"}},
     {"WEFT_STACK=18446744073709551615G"}},
    {"unknown_unit", {}, {{"WEFT_STACK", "1X"}}, {"WEFT_STACK=1X", "K, M or G"}},
    {"unit_alone", {}, {{"WEFT_STACK", "M"}}, {"WEFT_STACK=M", "K, M or G"}},
    {"unknown_pin", with_pin("diagonal"), {}, {"unknown way to pin", "diagonal", "compact, scatter, off"}},
    {"unknown_pin_variable", {}, {{"WEFT_PIN", "diagonal"}}, {"WEFT_PIN=diagonal", "compact, scatter, off"}},
    {"negative_spin", with_spin(-1), {}, {"looks for work", "spin = -1", "0 to 3600000000", "forever"}},
    {"long_spin", with_spin(3'600'000'001), {}, {"spin = 3600000001", "0 to 3600000000"}},
    {"negative_spin_variable", {}, {{"WEFT_SPIN", "-1"}}, {"WEFT_SPIN=-1", "microseconds", "forever"}},
    {"unit_of_spin", {}, {{"WEFT_SPIN", "1ms"}}, {"WEFT_SPIN=1ms", "microseconds", "forever"}},
    {"words_for_waiting", {}, {{"WEFT_WAITING", "many"}}, {"may wait", "WEFT_WAITING=many", "0 to "}},
    {"negative_waiting", {}, {{"WEFT_WAITING", "-1"}}, {"may wait", "WEFT_WAITING=-1", "0 to "}},
    {"unknown_engine",
     {},
     {{"WEFT_ENGINE", "quantum"}},
     {"unknown engine", "WEFT_ENGINE=quantum", "threads"}},
    {"unknown_variable",
     {},
     {{"WEFT_POLCY", "steal"}},
     {"unknown environment variable", "WEFT_POLCY=steal", "WEFT_POLICY"}},
    {"bad_seed", {}, {{"WEFT_SEED", "lucky"}}, {"seed", "WEFT_SEED=lucky", "18446744073709551615"}},
    {"negative_seed", {}, {{"WEFT_SEED", "-1"}}, {"seed", "WEFT_SEED=-1"}},
};

class bad_inputs_are_refused : public testing::TestWithParam<bad_input> {};

INSTANTIATE_TEST_SUITE_P(all, bad_inputs_are_refused, testing::ValuesIn(bad_inputs),
                         [](const auto& of) { return of.param.name; });

TEST_P(bad_inputs_are_refused, with_a_message_that_helps) {
    bad_input bad = GetParam();
    if (bad.options.machine == "FILE") {
        bad.options.machine = file_name;
        std::ofstream(file_name) << bad.file;
    }
    for (const auto& [name, value] : bad.environment) setenv(name.c_str(), value.c_str(), 1);
    std::optional<std::string> message;
    try {
        runtime rt(bad.options);
    } catch (const error& e) { message = e.what(); }
    for (const auto& [name, value] : bad.environment) unsetenv(name.c_str());
    if (!bad.file.empty()) unlink(file_name.c_str());

    ASSERT_TRUE(message.has_value()) << "it was accepted";
    for (const auto& part : bad.parts)
        EXPECT_NE(message->find(part), std::string::npos) << part << "\nin: " << *message;
    if (bad.name != "malformed_toml") { // what TOML allows cannot be listed
        EXPECT_NE(message->find("; given: "), std::string::npos) << *message;
        EXPECT_NE(message->find("; allowed: "), std::string::npos) << *message;
    }
    EXPECT_EQ(message->find('\n'), std::string::npos) << *message;
}

TEST(good_input, an_empty_variable_is_none) {
    for (const char* name : {"WEFT_WORKERS", "WEFT_POLICY", "WEFT_ENGINE", "WEFT_MACHINE", "WEFT_SEED",
                             "WEFT_STACK", "WEFT_PIN", "WEFT_SPIN", "WEFT_NO_SUCH_THING"})
        setenv(name, "", 1);
    EXPECT_EQ(runtime().policy(), "steal");
    for (const char* name : {"WEFT_WORKERS", "WEFT_POLICY", "WEFT_ENGINE", "WEFT_MACHINE", "WEFT_SEED",
                             "WEFT_STACK", "WEFT_PIN", "WEFT_SPIN", "WEFT_NO_SUCH_THING"})
        unsetenv(name);
}

TEST(good_input, options_come_before_variables) {
    setenv("WEFT_WORKERS", "3", 1);
    setenv("WEFT_POLICY", "share", 1);
    setenv("WEFT_STACK", "128K", 1);
    {
        const runtime from_environment;
        EXPECT_EQ(from_environment.workers(), 3);
        EXPECT_EQ(from_environment.policy(), "share");
        runtime_options o;
        o.workers = 2;
        o.policy = "near";
        const runtime from_options(o);
        EXPECT_EQ(from_options.workers(), 2);
        EXPECT_EQ(from_options.policy(), "near");
    }
    for (const char* name : {"WEFT_WORKERS", "WEFT_POLICY", "WEFT_STACK"}) unsetenv(name);
}

TEST(good_input, half_a_core_is_one_worker) {
    const auto workers_with = [](double quota) {
        machine_parts parts = load_synthetic("pack:1 l3:1 core:4 pu:1").parts();
        parts.cpu_quota = quota;
        return default_workers(machine(std::move(parts)));
    };
    EXPECT_EQ(workers_with(0.1), 1);
    EXPECT_EQ(workers_with(0.5), 1);
    EXPECT_EQ(workers_with(2.0), 2);
    EXPECT_EQ(workers_with(64.0), 4);
}

TEST(good_input, more_workers_than_cores) {
    runtime rt(test::setup{"steal", 32}.options());
    std::atomic<int> sum{0};
    rt.run([&] { parallel_for(0, 1000, [&](int i) { sum += i; }, {.grain = 1}); });
    EXPECT_EQ(sum.load(), 499'500);
}

// ---- much of something

/// Kept from becoming a loop.
[[gnu::noinline]] int deep(int n) { // NOLINT(misc-no-recursion)
    if (n == 0) return 0;
    const auto [a, b] = join([n] { return deep(n - 1); }, [] { return 1; });
    return a + b;
}

TEST(much, a_million_levels_of_joins) {
    // Instrumented code has larger frames, and ThreadSanitizer a call stack of its own, of fixed size.
    const int depth = test::sanitized ? 5'000 : 1'000'000;
    runtime_options o = test::setup{"steal", 2}.options();
    o.stack_bytes = std::size_t{1} << 30;
    runtime rt(o);
    EXPECT_EQ(rt.run([=] { return deep(depth); }), depth);
}

/// Something that is no file of settings, under a name of that ending. `made` is empty where the system refuses it.
struct no_file {
    const char* name;
    std::function<bool(const std::filesystem::path&)> make;
    const char* message;
};
const std::vector<no_file> no_files = {
    {"zero",
     [](const auto& at) {
         std::filesystem::create_symlink("/dev/zero", at);
         return true;
     },
     "is no file, but a device or a pipe"},
    {"pipe", [](const auto& at) { return mkfifo(at.c_str(), 0600) == 0; },
     "is no file, but a device or a pipe"},
    {"folder", [](const auto& at) { return std::filesystem::create_directory(at); },
     "is no file, but a folder"},
    {"huge",
     [](const auto& at) {
         std::ofstream(at) << "#";
         std::filesystem::resize_file(at, (std::uintmax_t{64} << 20) + 1);
         return true;
     },
     "is too large: more than 64 MiB"},
};

TEST(much, what_has_no_end_is_no_file_of_settings) {
    namespace fs = std::filesystem;
    const fs::path folder = testing::TempDir() + "no_files_" + std::to_string(getpid());
    fs::create_directory(folder);
    const std::map<std::string, std::function<runtime_options(const std::string&)>> inputs = {
        {"machine.toml", with_machine},
        {"machine.xml", with_machine},
        {"resources.toml",
         [](const std::string& file) {
             runtime_options o;
             o.resources = file;
             return o;
         }},
        {"scenario.toml",
         [](const std::string& file) {
             runtime_options o;
             o.engine = "model";
             o.machine = "pack:1 core:2 pu:1";
             o.scenario = file;
             return o;
         }},
        {"profile.txt", [](const std::string& file) { return with_policy("offline:profile=" + file); }},
    };
    alarm(60); // each of them could be waited for, or read, for ever
    for (const auto& [name, options] : inputs)
        for (const no_file& what : no_files) {
            SCOPED_TRACE(std::string(what.name) + " as " + name);
            const fs::path at = folder / (std::string(what.name) + "_" + name);
            ASSERT_TRUE(what.make(at));
            try {
                const runtime rt(options(at.string()));
                ADD_FAILURE() << "accepted";
            } catch (const error& e) {
                const std::string message = e.what();
                EXPECT_NE(message.find(what.message), std::string::npos) << message;
                EXPECT_NE(message.find(at.string()), std::string::npos) << message;
                EXPECT_NE(message.find("; allowed: "), std::string::npos) << message;
            }
        }
    alarm(0);
    fs::remove_all(folder);
}

[[gnu::noinline]] int endless(volatile char* above) { // NOLINT(misc-no-recursion)
    volatile char room[512];
    room[0] = *above;
    if (room[0]) return 0; // never
    return endless(room) + room[0];
}

void use_up_a_stack(const char* policy) {
    runtime_options o = test::setup{policy, 2}.options();
    o.stack_bytes = std::size_t{256} << 10;
    runtime rt(o);
    rt.run([] {
        task_group g;
        g.run([] {
            volatile char first = 0;
            static_cast<void>(endless(&first));
        });
        g.wait();
    });
}

TEST(much, a_stack_that_is_used_up_is_reported) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers report stack overflows by themselves";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const auto& policy : {"steal", "steal-parent-first"})
        EXPECT_EXIT(use_up_a_stack(policy), testing::KilledBySignal(SIGSEGV),
                    "stack overflow in a task; given: stack_bytes = 262144; allowed: a larger WEFT_STACK");
}

/// Touches only the far end of a frame that is larger than stack and guard together, if the compiler lets it.
[[gnu::noinline]] int beyond_the_guard() {
    volatile char room[std::size_t{1} << 20];
    room[0] = 1;
    return room[0];
}

void step_beyond_the_guard() {
    runtime_options o = test::setup{"steal", 1}.options();
    o.stack_bytes = std::size_t{256} << 10;
    runtime rt(o);
    rt.run([] {
        task_group g;
        g.run([] { EXPECT_EQ(beyond_the_guard(), 1); });
        g.wait();
    });
}

// By -fstack-clash-protection, which the target weft gives to its users.
TEST(much, a_frame_that_is_larger_than_the_guard_is_reported) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers report stack overflows by themselves";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(step_beyond_the_guard(), testing::KilledBySignal(SIGSEGV),
                "stack overflow in a task; given: stack_bytes = 262144");
}

/// Goes down to where the frame of a signal has no room any more, and gets a tick there.
[[gnu::noinline]] int down_to_the_last_frame(volatile char* above) { // NOLINT(misc-no-recursion)
    volatile char room[256];
    room[0] = *above;
    const std::byte* const limit = impl::hot_self()->current->memory.limit();
    if (reinterpret_cast<const std::byte*>(const_cast<const char*>(room)) - limit > 1200)
        return down_to_the_last_frame(room) + room[0];
    return pthread_kill(pthread_self(), engine::tick_signal()) + room[0];
}

void get_a_tick_on_a_full_stack() {
    runtime_options o = test::setup{"steal", 1}.options();
    o.stack_bytes = std::size_t{256} << 10;
    o.preempt = "yield:interval=60s";
    runtime rt(o);
    rt.run([] {
        task_group g;
        g.run([] {
            pthread_kill(pthread_self(), 0); // the linker finds it the first time, which needs a stack
            volatile char first = 0;
            static_cast<void>(down_to_the_last_frame(&first));
        });
        g.wait();
    });
}

TEST(much, a_stack_without_room_for_a_signal_is_reported) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers report stack overflows by themselves";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(get_a_tick_on_a_full_stack(), testing::KilledBySignal(SIGSEGV), "stack overflow in a task");
}

TEST(much, an_ordinary_fault_is_not_called_a_stack_overflow) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers report faults by themselves";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime rt(test::setup{"steal", 1}.options());
            int* volatile nowhere = nullptr;
            rt.run([&] { *nowhere = 1; });
        },
        testing::KilledBySignal(SIGSEGV), "^$");
}

long resident_bytes() {
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

TEST(much, a_million_children_of_one_group) {
    const int children = test::sanitized ? 50'000 : 1'000'000;
    for (const auto& policy : {"steal", "steal:zone=reported", "near"}) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 2}.options());
        std::atomic<int> ran{0};
        rt.run([&] {
            task_group g;
            for (int i = 0; i < children; ++i) g.run([&] { ran.fetch_add(1, std::memory_order_relaxed); });
            g.wait();
        });
        EXPECT_EQ(ran.load(), children);
    }
}

TEST(much, a_million_queued_children) {
    const int children = test::sanitized ? 50'000 : 1'000'000;
    for (const auto& policy : {"steal-parent-first", "steal-parent-first:order=fifo", "share"}) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 1}.options());
        int ran = 0;
        double bytes_each = 0;
        rt.run([&] {
            const long before = resident_bytes();
            task_group g;
            for (int i = 0; i < children; ++i) g.run([&] { ++ran; });
            EXPECT_EQ(ran, 0); // one worker: all of them are pending
            bytes_each = static_cast<double>(resident_bytes() - before) / children;
            g.wait();
        });
        EXPECT_EQ(ran, children);
        if (!test::sanitized) {
            EXPECT_LT(bytes_each, 1024);
            RecordProperty("bytes_a_task", std::to_string(bytes_each));
        }
    }
}

} // namespace
} // namespace weft
