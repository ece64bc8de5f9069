// ctest: labels=not_tsan
//
// Which workers get a tick, and how: timers of workers with even phases, one timer that several workers share, and none for
// workers that run no task which may be preempted.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/preempted.hpp"
#include "engine/process/signal_claim.hpp"

namespace weft {
namespace {

using test::preempting;
using namespace std::chrono_literals;

/// Runs tasks that may be preempted and others, one on each worker, and calls `look` when all run. Types by their index.
template <class Look>
void with_busy_workers(runtime& rt, const std::vector<preemption>& types, Look look) {
    const int count = static_cast<int>(types.size());
    std::atomic<int> busy{0};
    std::atomic<bool> done{false};
    std::thread looker([&] {
        while (busy < count) std::this_thread::yield();
        look();
        done = true;
    });
    rt.run([&] {
        task_group g;
        for (const preemption type : types)
            g.run(
                [&] {
                    ++busy;
                    while (!done) {}
                },
                {.preempt = type});
        g.wait();
    });
    looker.join();
}

/// Phases of the armed timers of the workers' own threads within an interval, in the order of the workers.
std::vector<double> phases_of(engine::thread_engine& e, std::chrono::nanoseconds interval) {
    std::vector<double> phases;
    for (const auto& w : e.all_workers) {
        itimerspec left{};
        timespec now{};
        if (!w->own.has_timer || timer_gettime(w->own.timer, &left) != 0) continue;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0) continue;
        const auto at = now.tv_sec * 1'000'000'000 + now.tv_nsec + left.it_value.tv_sec * 1'000'000'000 +
                        left.it_value.tv_nsec;
        phases.push_back(static_cast<double>(at % interval.count()) / static_cast<double>(interval.count()));
    }
    return phases;
}

/// The same, once there are so many. A tick may have come since the tasks began: then a worker has put its task back, and
/// takes it up again, or another worker does, which it wakes first.
std::vector<double> phases_of(engine::thread_engine& e, std::chrono::nanoseconds interval,
                              std::size_t expected) {
    const auto until = std::chrono::steady_clock::now() + 20s;
    for (;;) {
        std::vector<double> phases = phases_of(e, interval);
        if (phases.size() == expected || std::chrono::steady_clock::now() > until) return phases;
        std::this_thread::sleep_for(1ms);
    }
}

TEST(ticks, aligned_timers_have_even_phases) {
    // So long that no worker changes its thread, and the reading of the clocks does not matter.
    constexpr auto interval = 2s;
    runtime rt(preempting("yield:interval=2s,timer=aligned", 4));
    auto& e = test::engine_of(rt);
    std::vector<double> phases;
    with_busy_workers(rt, std::vector(4, preemption::yield), [&] { phases = phases_of(e, interval, 4); });
    ASSERT_EQ(phases.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(phases[i], static_cast<double>(i) / 4, 0.02) << i;
}

TEST(ticks, a_group_has_one_timer) {
    for (const auto& [how, expected] : {std::pair{"timer=one-to-all", 1U},
                                        {"timer=chain", 1U},
                                        {"timer=hybrid,groups=2", 2U},
                                        {"timer=hybrid,groups=4", 4U},
                                        {"timer=created", 4U}}) {
        runtime rt(preempting(std::string("yield:interval=2s,") + how, 4));
        auto& e = test::engine_of(rt);
        std::size_t armed = 0;
        with_busy_workers(rt, std::vector(4, preemption::yield),
                          [&] { armed = phases_of(e, 2s, expected).size(); });
        EXPECT_EQ(armed, expected) << how;
    }
}

/// Waits for `wanted` ticks of timers, up to half a minute, and returns how many came and how many workers sent meanwhile.
std::pair<std::uint64_t, std::uint64_t> ticks_in_a_while(const engine::ticks& of, std::uint64_t wanted) {
    const auto timers = of.of_timers(), sent = of.forwarded();
    const auto until = std::chrono::steady_clock::now() + 30s;
    while (of.of_timers() - timers < wanted && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(10ms);
    const auto sent_meanwhile = of.forwarded() - sent;
    return {of.of_timers() - timers, sent_meanwhile};
}

TEST(ticks, a_chain_sends_at_most_one_tick_a_worker_and_interval) {
    for (const std::string how : {"timer=chain", "timer=one-to-all"}) {
        runtime rt(preempting("yield:interval=1ms," + how, 4));
        auto& p = test::preempter_of(rt);
        std::uint64_t timers = 0, sent = 0;
        with_busy_workers(rt, std::vector(4, preemption::yield),
                          [&] { std::tie(timers, sent) = ticks_in_a_while(p.when(), 100); });
        EXPECT_GT(sent, 0U) << how;
        // The workers change their tasks meanwhile, and one may be between two tasks, so that the lead goes on: slack.
        EXPECT_LE(sent, 3 * timers + 20) << how;
    }
}

TEST(ticks, none_is_sent_to_a_worker_whose_task_is_not_preempted) {
    for (const std::string how : {"timer=chain", "timer=one-to-all"}) {
        runtime rt(preempting("yield:interval=1ms," + how, 4));
        auto& p = test::preempter_of(rt);
        const std::vector types{preemption::yield, preemption::off, preemption::off, preemption::off};
        std::uint64_t timers = 0, sent = 0;
        with_busy_workers(rt, types, [&] {
            std::this_thread::sleep_for(20ms); // the last one may have begun just now
            std::tie(timers, sent) = ticks_in_a_while(p.when(), 100);
        });
        EXPECT_EQ(sent, 0U) << how;
        EXPECT_GT(timers, 0U) << how;
    }
}

/// Y8: a worker whose thread takes no ticks for a while has at most one before it afterwards.
TEST(ticks, do_not_queue_up_at_a_worker) {
    for (const std::string how : {"timer=chain", "timer=one-to-all"}) {
        runtime rt(preempting("yield:interval=1ms," + how, 2));
        const engine::ticks& when = test::preempter_of(rt).when();
        std::atomic<int> begun{0}, deaf{-1};
        std::atomic<bool> done{false};
        std::uint64_t sent = 0;
        sigset_t tick;
        sigemptyset(&tick);
        sigaddset(&tick, engine::tick_signal());
        const auto task = [&](int me) {
            ++begun;
            while (begun < 2) {}
            while (deaf < 0) {
                // From here on the task keeps its worker. If that one does not lead, the other worker does, or will.
                pthread_sigmask(SIG_BLOCK, &tick, nullptr);
                int none = -1;
                if (!static_cast<engine::thread_worker&>(*impl::hot_self()).kernel->is_armed &&
                    deaf.compare_exchange_strong(none, me))
                    while (!done) {}
                pthread_sigmask(SIG_UNBLOCK, &tick, nullptr);
            }
            if (deaf == me) return;
            const auto sent_before = when.forwarded(), timers = when.of_timers();
            while (when.of_timers() - timers < 20) {}
            sent = when.forwarded() - sent_before;
            done = true;
        };
        test::run_all(rt, 2, task, {.preempt = preemption::yield});
        EXPECT_LE(sent, 1U) << how;
    }
}

/// Y6: the worker that leads comes to a task which is never preempted, and the other worker needs a tick to run the last one.
TEST(ticks, the_lead_goes_on_to_a_worker_that_needs_it) {
    for (const std::string how : {"timer=chain", "timer=one-to-all"}) {
        runtime rt(preempting("yield:interval=1ms," + how, 2));
        for (int round = 0; round < test::rounds(20); ++round) { // it is chance which of them leads
            std::atomic<int> begun{0};
            std::atomic<bool> answered{false};
            rt.run([&] {
                task_group g;
                g.run([&] {
                    ++begun;
                    while (begun < 2) {}
                });
                g.run([&] {
                    ++begun;
                    while (!answered) {}
                });
                g.run(
                    [&] {
                        while (begun < 2) {}
                        g.run([&] { answered = true; }, {.preempt = preemption::yield});
                        while (!answered) {}
                    },
                    {.preempt = preemption::off});
                g.wait();
            });
            EXPECT_TRUE(answered) << how;
        }
    }
}

TEST(ticks, a_runtime_without_work_gets_none) {
    runtime rt(preempting("klt:interval=1ms", 2));
    test::run_all(rt, 4, [](int) { test::compute(5'000'000); });
    auto& e = test::engine_of(rt);
    // A tick may be on its way to a thread that the system does not run for a while.
    for (int look = 0; look < 200; ++look) {
        const auto before = e.preemption.when().of_timers();
        std::this_thread::sleep_for(100ms);
        if (phases_of(e, 1ms).empty() && e.preemption.when().of_timers() == before) return;
    }
    ADD_FAILURE() << "ticks come without work";
}

} // namespace
} // namespace weft
