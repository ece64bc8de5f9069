// The whole runtime under schedules drawn by seed: random programs return the right results, no worker is
// left asleep, and the same seed is the same schedule. WEFT_TEST_SCHEDULES is the number of schedules of
// random programs.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/graphs.hpp"
#include "engine/programs.hpp"
#include "engine/resizer.hpp"
#include "engine/support.hpp"
#include "stepper/runtimes.hpp"
#include "stepper/stepper.hpp"

namespace weft {
namespace {

using namespace test::programs;

using stepper::options, stepper::schedules_given;

/// `resized`: meanwhile another thread makes workers inactive and active again.
stepper::schedule run_program(std::uint64_t seed, const std::string& policy, int workers,
                              bool resized = false) {
    node program = generator(seed, 25).program();
    solve(program);
    return stepper::run(seed, [&] {
        runtime here(options(policy, workers, seed)), other(options(policy, 1, seed));
        world w(here, other, count(program));
        w.learns_grains = false;
        std::optional<value> result;
        std::optional<int> failed;
        std::optional<test::resizer> changes;
        if (resized) changes.emplace(here, workers, seed, 12);
        try {
            result = here.run([&] { return eval(program, w); });
        } catch (const test::failure& f) { failed = f.number; }
        if (program.failures.empty()) {
            EXPECT_EQ(result, program.expected);
        } else {
            EXPECT_TRUE(failed && program.failures.contains(*failed)) << failed.value_or(-1);
        }
        changes.reset();
        expect_visits(program, w, true);
        EXPECT_EQ(w.closures.alive(), 0);
        EXPECT_EQ(w.closures.misused.load(), 0);
    });
}

TEST(schedules, are_the_same_for_the_same_seed) {
    run_program(1, "steal", 2); // what a process does once takes steps as well
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const auto once = run_program(seed, "steal", 2), again = run_program(seed, "steal", 2);
        EXPECT_EQ(once.hash, again.hash);
        EXPECT_EQ(once.steps, again.steps);
        EXPECT_NE(once.hash, run_program(seed + 100, "steal", 2).hash);
    }
}

TEST(schedules, of_random_programs) {
    const std::uint64_t schedules = schedules_given ? std::stoull(*schedules_given) : 400;
    auto policies = test::all_policies;
    policies.emplace_back("chaos:of=steal");
    stepper::warm_up();
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(test::seed));
    std::uint64_t steps = 0, switches = 0, done = 0;
    for (; done < schedules && !testing::Test::HasFailure(); ++done) {
        const std::uint64_t seed = test::seed + done;
        const std::string& policy = policies[seed % policies.size()];
        const int workers = 1 + static_cast<int>(seed / policies.size() % 3);
        SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed) + " WEFT_TEST_SCHEDULES=1, " + policy + ", " +
                     std::to_string(workers) + " workers");
        const auto s = run_program(seed, policy, workers, seed % 3 == 2);
        steps += s.steps;
        switches += s.switches;
    }
    std::printf("%llu schedules, %llu steps, %llu switches of threads\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(steps),
                static_cast<unsigned long long>(switches));
}

// Threads that are no workers take the places of workers, leave them, and are woken when their roots end elsewhere.
TEST(schedules, callers_come_and_go) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        stepper::run(seed, [&] {
            // The worker of rank 0 begins with every root of `serial`, so other callers wait for it.
            const char* const policies[] = {"steal", "serial", "steal-parent-first"};
            auto o = options(policies[seed % 3], 2, seed);
            o.spin = std::chrono::microseconds(seed % 2 ? 0 : 20);
            runtime rt(o);
            std::atomic<int> sum{0};
            const auto calls = [&] {
                for (int i = 0; i < 6; ++i) rt.run([&] { join([&] { ++sum; }, [&] { ++sum; }); });
            };
            std::thread other(calls);
            calls();
            other.join();
            EXPECT_EQ(sum, 24);
        });
    }
}

// A worker that has work for a sleeping worker wakes it, even if it exposes the work in a signal handler,
// inside a leaf that never polls. The second closure ends the wait of the first, so after a lost wake-up no
// thread can continue.
TEST(schedules, hidden_work_reaches_a_sleeper) {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        stepper::run(seed, [&] {
            auto o = options(seed % 2 ? "steal" : "near", 2, seed);
            const bool impatient = seed % 4 < 2; // goes to sleep without having asked a victim
            if (impatient) o.spin = std::chrono::microseconds(0);
            runtime rt(o);
            rt.run([&] {
                for (int round = 0; round < (impatient ? 10 : 3); ++round) {
                    if (!impatient) // the other one sleeps, or is about to
                        this_task::sleep_for(std::chrono::microseconds(seed % 300));
                    std::atomic<bool> seen{false};
                    join(
                        [&] {
                            while (!seen.load(std::memory_order_acquire)) {}
                        },
                        [&] { seen.store(true, std::memory_order_release); });
                }
            });
        });
    }
}

// The same for work in a place where other workers look, and to which its spawner never returns. The work is
// placed at some step of the other worker's way to sleep, which is short: no worker looks twice.
TEST(schedules, placed_work_reaches_a_sleeper) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        stepper::run(seed, [&] {
            auto o = options(seed % 2 ? "steal" : "share", 2, seed);
            o.spin = std::chrono::microseconds(0);
            runtime rt(o);
            std::mt19937_64 random(seed);
            rt.run([&] {
                task_group spawned;
                for (int round = 0; round < 30; ++round) {
                    std::atomic<bool> seen{false};
                    spawned.run([&] { seen.store(true, std::memory_order_release); });
                    while (!seen.load(std::memory_order_acquire)) {}
                    for (auto steps = random() % 100; steps > 0; --steps)
                        seen.load(std::memory_order_relaxed);
                }
                spawned.wait();
            });
        });
    }
}

// A task that is about to wait for a condition gets every notification sent after it has released the mutex.
TEST(schedules, a_notification_reaches_a_task_that_is_about_to_wait) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        stepper::run(seed, [&] {
            runtime rt(options(seed % 2 ? "steal" : "share", 2, seed));
            mutex m;
            condition_variable changed;
            int turn = 0;
            const auto take_turns = [&](int mine) {
                for (int round = 0; round < 10; ++round) {
                    std::unique_lock lock(m);
                    changed.wait(lock, [&] { return turn == mine; });
                    turn = 1 - mine;
                    changed.notify_one();
                }
            };
            rt.run([&] { join([&] { take_turns(0); }, [&] { take_turns(1); }); });
        });
    }
}

/// Tasks that read, write and add to some data, alone or one at a time.
struct random_graph {
    static constexpr std::size_t data = 3;
    enum class how { none, read, write, add };
    struct step {
        std::array<how, data> what{};
        bool needs_one = false; ///< of a resource of which there are two
        std::uint64_t number = 0;
    };
    std::vector<step> steps;

    explicit random_graph(std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (std::uint64_t n = 1; n <= 20; ++n) {
            step s{.needs_one = random() % 3 == 0, .number = n};
            for (how& h : s.what) h = static_cast<how>(random() % 4);
            steps.push_back(s);
        }
    }
    struct world {
        std::array<std::uint64_t, data> x{};
        std::array<std::atomic<int>, data> inside{};
        std::atomic<int> holders{0}, wrong{0}, ran{0};

        void carry_out(const step& s) {
            ++ran;
            if (s.needs_one && ++holders > 2) ++wrong;
            std::uint64_t seen = s.number;
            for (std::size_t d = 0; d < data; ++d)
                if (s.what[d] == how::read || s.what[d] == how::write) seen = seen * 31 + x[d];
            for (std::size_t d = 0; d < data; ++d) {
                if (s.what[d] == how::add && inside[d]++ != 0) ++wrong;
                if (s.what[d] == how::write) x[d] = seen;
                if (s.what[d] == how::add) x[d] += s.number * s.number;
                if (s.what[d] == how::add) --inside[d];
            }
            if (s.needs_one) --holders;
        }
    };
    void add_to(graph& dag, world& w, const step& s) const {
        static int nobody;
        const auto access = [&](std::size_t d) {
            switch (s.what[d]) {
            case how::read: return ::weft::read(w.x[d]);
            case how::write: return readwrite(w.x[d]);
            case how::add: return commutative(w.x[d]);
            case how::none: break;
            }
            return ::weft::read(nobody);
        };
        const auto work = [&w, &s] { w.carry_out(s); };
        if (s.needs_one)
            dag.add(work, access(0), access(1), access(2), needs("thing"));
        else
            dag.add(work, access(0), access(1), access(2));
    }
};

// Graphs under schedules. The end of a task meets the addition of a task that depends on it, and the release
// of a resource meets the refusal of a request for it, at every step.
TEST(schedules, of_random_graphs) {
    const std::string resources =
        test::graphs::file_with("reserve_after = 2\n[[resource]]\nname = \"thing\"\namount = 2\n");
    auto policies = test::all_policies;
    policies.emplace_back("locality");
    std::uint64_t done = 0;
    for (; done < 300 && !testing::Test::HasFailure(); ++done) {
        const std::uint64_t seed = test::seed + done;
        const std::string& policy = policies[seed % policies.size()];
        const int workers = 1 + static_cast<int>(seed / policies.size() % 3);
        SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed) + ", " + policy + ", " +
                     std::to_string(workers));
        const random_graph g(seed);
        random_graph::world expected, got;
        constexpr int runs = 2;
        const bool once = seed % 2 == 0;
        for (int run = 0; run < runs; ++run)
            for (const auto& s : g.steps) expected.carry_out(s);
        stepper::run(seed, [&] {
            auto o = options(policy, workers, seed);
            o.resources = resources;
            runtime rt(o);
            graph dag({.once = once, .throttle = 5});
            rt.run([&] {
                for (int run = 0; run < runs; ++run) {
                    // Half of the tasks are there at the start; in the second run of a kept graph, all are.
                    const bool adds = once || run == 0;
                    for (std::size_t n = 0; adds && n < g.steps.size() / 2; ++n)
                        g.add_to(dag, got, g.steps[n]);
                    dag.start();
                    for (std::size_t n = g.steps.size() / 2; adds && n < g.steps.size(); ++n)
                        g.add_to(dag, got, g.steps[n]);
                    dag.wait();
                }
            });
        });
        EXPECT_EQ(got.x, expected.x);
        EXPECT_EQ(got.wrong, 0);
        EXPECT_EQ(got.ran, expected.ran);
    }
    std::printf("%llu schedules of graphs\n", static_cast<unsigned long long>(done));
}

} // namespace
} // namespace weft
