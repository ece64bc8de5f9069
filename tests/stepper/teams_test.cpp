// Teams under schedules drawn by seed. Teams form, nest, end and form again at any step of workers that
// search, go to sleep, become inactive or run another team's tasks. WEFT_TEST_SCHEDULES is the number of
// schedules of random programs.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "engine/graphs.hpp"
#include "engine/resizer.hpp"
#include "engine/team/teams.hpp"
#include "engine/team_programs.hpp"
#include "stepper/runtimes.hpp"
#include "stepper/stepper.hpp"

namespace weft {
namespace {

using stepper::schedules_given;
using test::graphs::file_with, test::graphs::policies;

/// Workers of two cells.
runtime_options options(const std::string& policy, int workers, std::uint64_t seed) {
    return stepper::options(policy, workers, seed, "pack:2 l3:1 core:2 pu:1");
}

TEST(teams, of_random_programs) {
    const std::uint64_t schedules = schedules_given ? std::stoull(*schedules_given) : 400;
    const std::string resources =
        file_with(std::string("reserve_after = 2\n") + test::teams::random_program::resources);
    stepper::warm_up();
    std::printf("WEFT_TEST_SEED=%llu\n", static_cast<unsigned long long>(test::seed));
    std::uint64_t steps = 0, done = 0;
    for (; done < schedules && !testing::Test::HasFailure(); ++done) {
        const std::uint64_t seed = test::seed + done;
        const std::string& policy = policies[seed % policies.size()];
        const int workers = 1 + static_cast<int>(seed / policies.size() % 4);
        const bool is_resized = seed % 5 == 0;
        SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed) + " WEFT_TEST_SCHEDULES=1, " + policy + ", " +
                     std::to_string(workers) + " workers" + (is_resized ? ", resized" : ""));
        test::teams::random_program p(
            seed, {.workers = workers, .of_a_package = std::min(workers, 2), .depth = 2, .tasks = 5});
        const auto s = stepper::run(seed, [&] {
            runtime_options o = options(policy, workers, seed);
            o.resources = resources;
            if (seed % 7 < 2) o.spin = std::chrono::microseconds(0);
            runtime rt(o);
            std::optional<test::resizer> changes;
            if (is_resized) changes.emplace(rt, workers, seed, 12);
            for (int repeat = 1; repeat <= 2; ++repeat) {
                rt.run([&] {
                    stepper::describe_by([&e = impl::hot_self()->engine] {
                        return e.gate.to_string() + engine::teams_to_string(e);
                    });
                    p.run();
                });
                EXPECT_EQ(p.ran, p.expected * repeat);
            }
        });
        stepper::describe_by({});
        EXPECT_EQ(p.wrong(), 0);
        steps += s.steps;
    }
    std::printf("%llu schedules of teams, %llu steps\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(steps));
}

// The requested workers come out of their sleep, from the way to it, and out of a team that has just ended.
// The shares wait for each other in a loop, so if a worker does not come, the schedule never ends.
// T3.
TEST(teams, requests_reach_sleepers) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        stepper::run(seed, [&] {
            auto o = options(policies[seed % policies.size()], 3, seed);
            o.spin = std::chrono::microseconds(0);
            runtime rt(o);
            std::mt19937_64 random(seed);
            rt.run([&] {
                for (int round = 0; round < 15; ++round) {
                    const int size = 1 + static_cast<int>(random() % 3);
                    test::teams::spin_barrier all;
                    std::atomic<int> shares{0};
                    graph dag;
                    dag.add(moldable([&](int, int width) {
                                all.wait(width);
                                ++shares;
                            }),
                            fixed_width(size));
                    dag.run();
                    EXPECT_EQ(shares, size);
                    for (auto steps = random() % 100; steps > 0; --steps)
                        shares.load(std::memory_order_relaxed);
                }
            });
        });
    }
}

// Chains of tasks, small teams or plain ones, that continue until the big team has run.
TEST(teams, that_are_big_are_not_starved) {
    const std::string resources = file_with("reserve_after = 4\n");
    int most = 0;
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        const std::string& policy = policies[seed / 2 % policies.size()];
        SCOPED_TRACE(std::to_string(seed) + ", " + policy);
        stepper::run(seed, [&] {
            auto o = options(policy, 3, seed);
            o.resources = resources;
            runtime rt(o);
            rt.run([&] {
                graph dag;
                std::atomic<int> small{0}, seen{-1}, chains{3};
                std::function<void()> next = [&] {
                    ++small;
                    if (seen >= 0 || small > 5000)
                        --chains;
                    else if (seed % 2)
                        dag.add([&] { next(); }, cores(1));
                    else
                        dag.add([&] { next(); });
                };
                dag.start();
                for (int i = 0; i < 3; ++i) dag.add([&] { next(); });
                dag.add([&] { seen = small.load(); }, cores(3));
                dag.wait();
                EXPECT_EQ(chains, 0);
                EXPECT_LT(small, 5000);
                most = std::max(most, small.load());
            });
        });
    }
    std::printf("at most %d small ones\n", most);
}

} // namespace
} // namespace weft
