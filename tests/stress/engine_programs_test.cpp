// ctest: labels=slow
//
// Random nested programs under every policy, compared with the same programs run as plain code.
//
// tests/engine/programs.hpp says what they are made of.
//
// Program i has seed WEFT_TEST_SEED + i, and a failure names the seed with which its program is the first
// one. WEFT_TEST_PROGRAMS is the number of programs, WEFT_TEST_POLICIES a list of policies, separated by
// ';'.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/programs.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "engine/watchdog.hpp"

namespace weft {
namespace {

using test::failure;
using namespace test::programs;
using test::watchdog;

const auto programs_given = test::take_variable("WEFT_TEST_PROGRAMS");
const auto policies_given = test::take_variable("WEFT_TEST_POLICIES");

std::vector<std::string> chosen_policies() {
    if (!policies_given) {
        auto list = test::all_policies;
        list.insert(list.end(), {"chaos:of=steal", "chaos:hold=60,of=steal:zone=reported",
                                 "chaos:of=steal-parent-first"});
        return list;
    }
    std::vector<std::string> list;
    for (std::size_t at = 0; at <= policies_given->size();) {
        const auto end = std::min(policies_given->find(';', at), policies_given->size());
        list.push_back(policies_given->substr(at, end - at));
        at = end + 1;
    }
    return list;
}

TEST(engine_programs, same_results_as_plain_code) {
    const std::uint64_t programs = programs_given ? std::stoull(*programs_given) : test::sanitized ? 5 : 20;
    constexpr std::uint64_t batch = 10; // programs for which the runtimes live
    // A sanitizer finds little where one worker runs the program alone.
    const auto configurations = test::setups(
        chosen_policies(), test::sanitized && !programs_given ? std::vector{2, 4} : std::vector{1, 2, 3, 4});
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(test::seed));
    std::fflush(stdout);
    watchdog dog;

    for (std::uint64_t first = 0; first < programs && !HasFailure(); first += batch) {
        std::vector<node> nodes;
        for (std::uint64_t i = first; i < std::min(first + batch, programs); ++i) {
            nodes.push_back(generator(test::seed + i).program());
            solve(nodes.back());
        }
        for (const auto& s : configurations) {
            runtime rt(s.options());
            runtime other(test::setup{s.policy, 1 + s.workers % 2}.options());
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                const node& program = nodes[i];
                const std::string what = "WEFT_TEST_SEED=" + std::to_string(test::seed + first + i) +
                                         " WEFT_TEST_PROGRAMS=1, " + s.policy + ", " +
                                         std::to_string(s.workers) + " workers";
                SCOPED_TRACE(what);
                dog.now(what);
                world w(rt, other, count(program));
                std::optional<value> result;
                std::optional<int> failed;
                try {
                    result = rt.run([&] { return eval(program, w); });
                } catch (const failure& f) { failed = f.number; }
                if (program.failures.empty()) {
                    EXPECT_EQ(result, program.expected);
                } else {
                    EXPECT_TRUE(failed && program.failures.contains(*failed)) << failed.value_or(-1);
                }
                expect_visits(program, w, true);
                EXPECT_EQ(w.closures.alive(), 0);
                EXPECT_EQ(w.closures.misused.load(), 0);
            }
        }
    }
}

// Several runtimes at once, each with a program of its own and more workers in all than there are cores.
TEST(engine_programs, in_several_runtimes_at_once) {
    const std::uint64_t programs = programs_given ? std::stoull(*programs_given) : test::sanitized ? 4 : 30;
    const auto policies = chosen_policies();
    watchdog dog;
    dog.now("several runtimes, WEFT_TEST_SEED=" + std::to_string(test::seed));
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> bad{0};
    runtime shared(test::setup{policies.back(), 2}.options());
    for (std::size_t t = 0; t < policies.size(); ++t)
        threads.emplace_back([&, t] {
            runtime own(test::setup{policies[t], 2}.options());
            for (std::uint64_t i = 0; i < programs; ++i) {
                const std::uint64_t seed = test::seed + 1000 * t + i;
                node program = generator(seed).program();
                solve(program);
                world w(i % 2 ? own : shared, i % 2 ? shared : own, count(program));
                bool right = false;
                try {
                    right = w.here->run([&] { return eval(program, w); }) == program.expected &&
                            program.failures.empty();
                } catch (const failure& f) { right = program.failures.contains(f.number); }
                if (!right) bad = seed;
                dog.now("several runtimes, WEFT_TEST_SEED=" + std::to_string(test::seed));
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(bad.load(), 0u) << "the program with this seed, WEFT_TEST_SEED=" << test::seed;
}

// Workers become inactive and active again, at random, while the programs run.
TEST(engine_programs, while_the_number_of_active_workers_changes) {
    const std::uint64_t programs = programs_given ? std::stoull(*programs_given) : test::sanitized ? 3 : 30;
    watchdog dog;
    for (const auto& policy : chosen_policies()) {
        runtime rt(test::setup{policy, 4}.options()), other(test::setup{"steal", 2}.options());
        engine::thread_engine* resized = nullptr;
        rt.run([&] { resized = &static_cast<engine::thread_engine&>(impl::hot_self()->engine); });
        std::atomic<bool> stop{false};
        std::thread changes([&] {
            std::mt19937_64 random(test::seed);
            while (!stop) {
                resized->set_active(static_cast<int>(1 + random() % 4));
                if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
            }
        });
        for (std::uint64_t i = 0; i < programs; ++i) {
            dog.now("active workers, " + policy + ", WEFT_TEST_SEED=" + std::to_string(test::seed + i));
            node program = generator(test::seed + i).program();
            solve(program);
            world w(rt, other, count(program));
            std::optional<int> failed;
            value result = 0;
            try {
                result = rt.run([&] { return eval(program, w); });
            } catch (const failure& f) { failed = f.number; }
            if (program.failures.empty()) {
                EXPECT_EQ(result, program.expected);
            } else {
                EXPECT_TRUE(failed && program.failures.contains(*failed)) << failed.value_or(-1);
            }
            EXPECT_EQ(w.closures.alive(), 0);
        }
        stop = true;
        changes.join();
    }
}

// A thief takes the continuation of a task while the child above it ends, on a fiber that then runs another
// child. The thief must not read the entry from that fiber any more.
TEST(engine_programs, the_rest_of_a_task_is_taken_while_its_child_ends) {
    const int repeats = test::rounds(test::sanitized ? 500 : 3'000);
    watchdog dog;
    for (const char* policy : {"steal", "near"}) {
        runtime rt(test::setup{policy, 2}.options()), other(test::setup{policy, 1}.options());
        for (int i = 0; i < repeats; ++i) {
            if (i % 1000 == 0) dog.now(std::string("the rest of a task, ") + policy);
            std::atomic<int> inner{0}, outer{0};
            rt.run([&] {
                task_group g;
                g.run([&] {
                    task_group h;
                    h.run([&] {
                        other.run([] {}); // suspends, and so exposes the continuations of both tasks
                        ++inner;
                    });
                    h.run([&] { ++inner; });
                    h.run([&] { ++inner; });
                    h.wait();
                    outer += inner == 3;
                });
                g.run([&] {
                    value v = 0;
                    for (value turn = 0; turn < 500; ++turn) v = mixed(v, turn);
                    outer += v != 1;
                });
                g.wait();
                if (outer == 2) return;
                std::fprintf(stderr, "a wait returned before its children were done, %s, turn %d\n", policy,
                             i);
                std::abort(); // they run on and would use what is gone
            });
        }
    }
}

} // namespace
} // namespace weft
