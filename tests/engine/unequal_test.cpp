// ctest: labels=not_tsan
// Policies for unequal cores do what their sources say, on small modelled machines: by construction, not by timings.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/modelled.hpp"

namespace weft {
namespace {

using test::modelled;

constexpr time_ns us = 1000;

/// The first core has speed 1, the others 0.5 for code that computes and `memory` for code that waits for memory.
machine fast_and_slow(int slow, double memory = 0.5) {
    std::string text = "name = 'unequal'\n[[core_class]]\nname = 'fast'\nfrequency_mhz = 1000\n"
                       "[[core_class]]\nname = 'slow'\nspeed = 0.5\nmemory_speed = " +
                       std::to_string(memory) +
                       "\n[[domain]]\ncores = [{class = 'fast', count = 1}, {class = 'slow', count = " +
                       std::to_string(slow) + "}]\n[exchange]\nns = 0\n[charges]\n";
    for (const char* of : {"fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock", "wake",
                           "woken", "exposure", "signal"})
        text += of + std::string("_ns = 0\n");
    return parse_toml(text, "unequal");
}

time_ns now() { return impl::hot_self()->host.now(); }
int core() { return impl::hot_self()->core(); }
void compute(time_ns ns, work kind = work::general) { cost(static_cast<std::uint64_t>(ns), kind); }

TEST(ljfcf, the_longest_task_has_the_fast_core_from_its_beginning) {
    for (const bool long_first : {true, false}) {
        modelled m("ljfcf", fast_and_slow(2));
        time_ns took_long = 0, took_short = 0;
        const auto run = [](time_ns ns, time_ns& took) {
            const time_ns began = now();
            compute(ns);
            took = now() - began;
        };
        m.run([&] {
            task_group g;
            const auto add_long = [&] { g.run([&] { run(40 * us, took_long); }, {.work = 4}); };
            if (long_first) add_long();
            g.run([&] { run(10 * us, took_short); }, {.work = 1});
            if (!long_first) add_long();
            g.wait();
        });
        EXPECT_EQ(took_long, 40 * us) << long_first;
        EXPECT_GE(took_short, 10 * us) << long_first;
    }
}

TEST(ljfcf, the_timer_gives_the_fast_core_to_the_one_that_has_most_left) {
    // Two tasks of the same distance: at each timer the one that has done less goes to the fast core, so they end together.
    modelled m("ljfcf:timer_us=10", fast_and_slow(2));
    std::vector<time_ns> ends;
    m.run([&] {
        task_group g;
        for (int i = 0; i < 2; ++i)
            g.run([&] {
                compute(300 * us);
                ends.push_back(now());
            });
        g.wait();
    });
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_LE(ends[1] - ends[0], 20 * us); // alone they would end at 300 and 600 us
}

TEST(camp, the_fast_core_goes_to_the_application_of_one_task) {
    modelled m("camp:quantum_us=10", fast_and_slow(3));
    int ends_on = -1;
    time_ns took = 0;
    std::vector<int> others;
    m.run([&] {
        auto alone = async([&] { // a root of its own
            const time_ns began = now();
            compute(200 * us);
            took = now() - began;
            ends_on = core();
        });
        task_group g;
        for (int i = 0; i < 3; ++i)
            g.run([&] {
                compute(400 * us);
                others.push_back(core());
            });
        g.wait();
        alone.get();
    });
    EXPECT_EQ(ends_on, 0);
    EXPECT_LE(took, 210 * us); // but for the first quantum, which it may spend on a slow core
}

TEST(camp, many_tasks_of_class_high_share_the_fast_core_in_turn) {
    // Two roots of a task each; both are HIGH, and there is one fast core.
    modelled m("camp:quantum_us=10", fast_and_slow(2));
    std::vector<time_ns> took;
    m.run([&] {
        const auto one = [&] {
            const time_ns began = now();
            compute(300 * us);
            took.push_back(now() - began);
        };
        auto a = async(one), b = async(one);
        a.get();
        b.get();
    });
    ASSERT_EQ(took.size(), 2u);
    // In turn each has 3/4 of the fast core's speed: 400 us. Without turns: 300, and at least 450.
    for (const time_ns t : took) {
        EXPECT_GE(t, 385 * us);
        EXPECT_LE(t, 415 * us);
    }
}

TEST(bias, tasks_that_wait_for_memory_leave_the_fast_core_to_those_that_compute) {
    modelled m("bias:check_us=5", fast_and_slow(1, 1.0));
    int ends_on = -1;
    time_ns took = 0;
    m.run([&] {
        const auto waits = [] { compute(50 * us, work::memory); };
        const auto computes = [] { compute(50 * us); };
        for (int i = 0; i < 8; ++i) { // both classes on both cores
            task_group g;
            g.run(waits, {.name = "waits"});
            g.run(computes, {.name = "computes"});
            g.run(waits, {.name = "waits"});
            g.run(computes, {.name = "computes"});
            g.wait();
        }
        task_group g;
        g.run([] { compute(400 * us, work::memory); }, {.name = "waits"});
        g.run(
            [&] {
                const time_ns began = now();
                compute(200 * us);
                took = now() - began;
                ends_on = core();
            },
            {.name = "computes"});
        g.wait();
    });
    EXPECT_EQ(ends_on, 0);
    EXPECT_LE(took, 206 * us);
}

TEST(speed, three_tasks_on_two_cores_end_together) {
    const auto first_end = [](const std::string& policy) {
        modelled m(
            make_policy(policy), test::equal_cores(2),
            engine::preemption_options{.type = preemption::yield, .interval = std::chrono::microseconds(10)});
        std::vector<time_ns> ends;
        m.run([&] {
            task_group g;
            for (int i = 0; i < 3; ++i)
                g.run([&] {
                    compute(3000 * us);
                    ends.push_back(now());
                });
            g.wait();
        });
        EXPECT_EQ(ends.size(), 3u);
        return std::pair(ends.front(), ends.back());
    };
    const auto [first, last] = first_end("speed:interval_us=100,rest=0");
    EXPECT_LE(last, 4600 * us);  // 9 ms of work on two cores
    EXPECT_GE(first, 3600 * us); // one that has a core to itself ends after 3 ms
}

} // namespace
} // namespace weft
