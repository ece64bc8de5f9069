// Priority scheduling for analysis in situ, in virtual time: how long the simulation waits for cores on which the analysis runs,
// and how much idle time of the cores the analysis takes up.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/preempted.hpp"
#include "engine/sanitized.hpp"
#include "machine/workers.hpp"

namespace weft {
namespace {

using test::modelled;

constexpr std::int64_t us = 1000, ms = 1000 * us;

engine::preemption_options each_millisecond(engine::tick_timers timers) {
    return {.type = preemption::off, .interval = std::chrono::milliseconds(1), .timers = timers};
}

constexpr hints analysis{.priority = -1, .preempt = preemption::yield};
constexpr hints rigid_analysis{.priority = -1};

machine skylake() {
    std::vector<int> ranks;
    for (int i = 0; i < 56; ++i) ranks.push_back(2 * i); // the first hardware thread of each core
    return restrict_to(load_machine(WEFT_SOURCE_DIR "/machines/xeon-platinum-8180m-2x28.toml"), ranks);
}

std::uint64_t cycles(time_ns ns) { return static_cast<std::uint64_t>(ns) * 5 / 2; } // at 2500 MHz
time_ns now() { return impl::hot_self()->host.now(); }

/// Analysis runs on all workers. Then the root of the simulation becomes ready, and, some time after it has started, a task for
/// each worker: how long these wait.
std::vector<time_ns> waits(const std::string& policy, engine::tick_timers timers, const hints& of_analysis) {
    const machine on = skylake();
    modelled m(make_policy(policy), on, each_millisecond(timers));
    std::vector<time_ns> all(static_cast<std::size_t>(on.size()) + 1);
    m.run([&] {
        task_group behind, step;
        for (int i = 0; i < 2 * on.size(); ++i) behind.run([] { cost(cycles(20 * ms)); }, of_analysis);
        const time_ns due = now() + 5'300 * us;
        this_task::sleep_for(std::chrono::microseconds(5'300));
        all.front() = now() - due;
        cost(cycles(400 * us));
        const time_ns ready = now();
        for (std::size_t i = 1; i < all.size(); ++i)
            step.run([&all, ready, i] {
                all[i] = now() - ready;
                cost(cycles(2 * ms));
            });
        step.wait();
        behind.wait();
    });
    std::ranges::sort(all);
    return all;
}

TEST(insitu_in_model, the_simulation_starts_within_1_2_intervals) {
    for (const auto timers :
         {engine::tick_timers::one_to_all, engine::tick_timers::chain, engine::tick_timers::aligned}) {
        const auto waited = waits("insitu", timers, analysis);
        EXPECT_LE(waited.back(), ms + ms / 5) << static_cast<int>(timers);
        EXPECT_GT(waited.back(), ms / 2) << "it does wait for the tick";
        std::printf("timers %d: the longest wait is %.3f ms\n", static_cast<int>(timers),
                    static_cast<double>(waited.back()) * 1e-6);
    }
}

TEST(insitu_in_model, without_preemption_it_waits_for_the_end_of_the_analysis) {
    EXPECT_GT(waits("insitu", engine::tick_timers::chain, rigid_analysis).back(), 10 * ms);
}

TEST(insitu_in_model, without_priority_it_waits_behind_the_analysis_that_is_ready) {
    EXPECT_GT(waits("share", engine::tick_timers::chain, analysis).back(), ms + ms / 2);
}

TEST(insitu_in_model, analysis_is_not_preempted_while_nothing_waits) {
    // Its cost is that of the ticks alone: no task is suspended.
    const machine on = skylake();
    modelled m(make_policy("insitu"), on, each_millisecond(engine::tick_timers::chain));
    m.run([&] {
        task_group behind;
        for (int i = 0; i < on.size(); ++i) behind.run([] { cost(cycles(20 * ms)); }, analysis);
        behind.wait();
    });
    std::uint64_t suspensions = 0;
    for (const auto& w : m.engine.all_workers) suspensions += w->count.suspensions.get();
    EXPECT_LE(suspensions, 1U) << "the root waits";
}

TEST(insitu_in_model, a_worker_that_is_taken_out_stops_at_its_tick) {
    modelled m(make_policy("insitu"), test::equal_cores(4), each_millisecond(engine::tick_timers::created));
    const auto took = m.run([&] {
        task_group behind;
        for (int i = 0; i < 4; ++i) behind.run([] { cost(10'000'000); }, analysis);
        this_task::sleep_for(std::chrono::microseconds(2'500));
        m.engine.set_active(2);
        behind.wait();
    });
    // Workers 2 and 3 stop at 3 ms. What their tasks have left, 7 ms each, comes after the tasks of workers 0 and 1.
    EXPECT_EQ(took, 17 * ms);
}

// ---- on threads

TEST(insitu_on_threads, the_simulation_gets_workers_that_analyse_without_end) {
    if (test::thread_sanitized) GTEST_SKIP() << "it keeps the ticks";
    runtime rt(test::preempting("off:interval=1ms,timer=chain", 2, "insitu"));
    std::atomic<bool> ended{false};
    std::atomic<int> begun{0};
    rt.run([&] {
        task_group behind, step;
        for (int i = 0; i < 4; ++i)
            behind.run(
                [&] {
                    ++begun;
                    while (!ended.load(std::memory_order_relaxed)) {}
                },
                analysis);
        // The workers are in the analysis until the simulation has ended.
        this_task::sleep_for(std::chrono::milliseconds(5));
        std::atomic<int> steps{0};
        for (int i = 0; i < 2; ++i) step.run([&] { ++steps; });
        step.wait();
        EXPECT_EQ(steps, 2);
        EXPECT_GT(begun, 0);
        ended = true;
        behind.wait();
    });
}

} // namespace
} // namespace weft
