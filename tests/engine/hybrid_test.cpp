// ctest: labels=not_tsan,not_asan
// The policy `hybrid` in the model: it is `steal` on equal cores, better than it on unequal ones, and sees that a core was slowed.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/sanitized.hpp"

namespace weft {
namespace {

using test::modelled;

constexpr time_ns us = 1000;

/// As many cores as there are speeds; a cycle is a nanosecond on a core of speed 1. Only the program takes time.
machine cores_of(const std::vector<double>& speeds, time_ns exchange_ns = us) {
    std::string text = "name = 'unequal'\n", domain = "[[domain]]\ncores = [";
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        const std::string name = "c" + std::to_string(i);
        text += "[[core_class]]\nname = '" + name + "'\nspeed = " + std::to_string(speeds[i]) +
                "\nfrequency_mhz = 1000\n";
        domain += (i > 0 ? ", " : "") + ("{class = '" + name + "', count = 1}");
    }
    text += domain + "]\n[exchange]\nns = " + std::to_string(exchange_ns) + "\n[charges]\n";
    for (const char* of : {"fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock", "wake",
                           "woken", "exposure", "signal"})
        text += of + std::string("_ns = 0\n");
    return parse_toml(text, "unequal");
}

void compute(time_ns ns) { cost(static_cast<std::uint64_t>(ns)); }

std::uint64_t fib(int n) {
    compute(300);
    if (n < 2) return static_cast<std::uint64_t>(n);
    auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

void batches(int count, int tasks) {
    for (int b = 0; b < count; ++b) {
        task_group g;
        for (int i = 0; i < tasks; ++i) {
            const bool is_long = i % 10 == 9;
            g.run([is_long] { compute(is_long ? 2000 * us : 200 * us); },
                  {.name = is_long ? "long" : "short"});
        }
        g.wait();
    }
}

void plain_graph() {
    graph dag;
    std::vector<graph_task> tasks;
    for (std::size_t i = 0; i < 300; ++i) {
        std::vector<graph_task> before;
        if (i > 2) before.push_back(tasks[i - 3]);
        tasks.push_back(dag.add([i] { compute(static_cast<time_ns>(20 + i % 7) * us); }, before));
    }
    dag.run();
}

template <class F>
std::pair<time_ns, std::uint64_t> run(const std::string& policy, const machine& on, std::uint64_t seed, F&& f,
                                      time_ns spin_time = 100 * us) {
    modelled m(make_policy(policy), on, seed, spin_time);
    const time_ns took = m.run(f);
    m.engine.wait_until_quiescent();
    return {took, m.engine.sim->event_hash};
}

/// The memory is used in the same way under each seed.
constexpr std::uint64_t seeds = test::sanitized ? 1 : 3;

TEST(hybrid, does_on_equal_cores_what_steal_does) {
    const machine on =
        test::cores{.packages = 2, .cores_per_domain = 4, .cost = test::runtime_cost::usual}.build();
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto same = [&](auto&& f) {
            EXPECT_EQ(run("hybrid", on, seed, f), run("steal", on, seed, f)) << seed;
        };
        same([] { fib(16); });
        same([] { batches(3, 100); });
        same([] { plain_graph(); });
        same([] { parallel_for(0, 5000, [](int i) { compute(100 + i % 50); }); });
    }
}

TEST(hybrid, is_faster_than_steal_on_unequal_cores) {
    const machine on = cores_of({1, 1, 0.32, 0.32, 0.32, 0.32});
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const auto gain = [&](auto&& f) {
            return static_cast<double>(run("steal", on, seed, f).first) /
                   static_cast<double>(run("hybrid", on, seed, f).first);
        };
        EXPECT_GT(gain([] { batches(5, 60); }), 1.2) << seed;
        EXPECT_GT(gain([] { plain_graph(); }), 1.0) << seed;
        EXPECT_GT(gain([] { fib(16); }), 0.98) << seed;
    }
}

/// One task of 10 ms and one of 1 ms at a time: which is on the slow core at first is drawn, which is there at the end is not.
TEST(hybrid, the_long_task_ends_on_the_fast_core) {
    int exchanged = 0;
    for (const std::vector<double>& speeds : {std::vector{1.0, 0.25}, std::vector{0.25, 1.0}}) {
        const machine on = cores_of(speeds);
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            modelled m(make_policy("hybrid"), on, seed, 100 * us);
            const time_ns took = m.run([] {
                task_group g;
                g.run([] { compute(10000 * us); });
                compute(1000 * us);
                g.wait();
            });
            EXPECT_LT(took, 11500 * us) << seed; // 40 ms on the slow core; at best 10
            m.engine.wait_until_quiescent();
            exchanged += m.engine.outermost.core_of(0) == 1;
        }
    }
    EXPECT_GT(exchanged, 0);
}

/// An exchange has left the fast core to worker 1, the only one that is to be inactive.
TEST(hybrid, an_inactive_worker_keeps_no_fast_core) {
    const machine on = cores_of({1, 0.25});
    int exchanged = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        modelled m(make_policy("hybrid"), on, seed, 100 * us);
        m.run([] {
            task_group g;
            g.run([] { compute(1000 * us); });
            compute(10000 * us); // a thief goes on with this
            g.wait();
        });
        m.engine.wait_until_quiescent();
        exchanged += m.engine.outermost.core_of(0) == 1;
        for (const int active : {1, 2, 1}) {
            m.engine.set_active(active);
            EXPECT_EQ(m.engine.outermost.core_of(0), 0) << seed;
            const time_ns took = m.run([] { compute(1000 * us); });
            EXPECT_LT(took, active == 1 ? 1100 * us : 4100 * us) << seed; // 4 ms on the slow core
        }
    }
    EXPECT_GT(exchanged, 0);
}

/// When the fast core's worker sleeps, the other's task has run on the slow core for too short a time to pay for an exchange.
TEST(hybrid, a_sleeping_worker_takes_over_what_goes_on) {
    for (const std::vector<double>& speeds : {std::vector{1.0, 0.25}, std::vector{0.25, 1.0}}) {
        const machine on = cores_of(speeds, 100 * us);
        for (std::uint64_t seed = 1; seed <= 3; ++seed)
            EXPECT_LT(run("hybrid", on, seed, [] { compute(10000 * us); }, 0).first, 11000 * us) << seed;
    }
}

TEST(hybrid, a_worker_stays_with_what_it_has_released) {
    constexpr std::size_t chains = 8, length = 60;
    const machine on = cores_of({1, 1, 0.5, 0.5});
    std::vector<std::size_t> last(4, chains);
    std::size_t changes = 0;
    run("hybrid", on, 1, [&] {
        graph dag;
        std::vector<graph_task> ends(chains);
        for (std::size_t i = 0; i < chains * length; ++i) {
            const std::size_t chain = i % chains;
            std::vector<graph_task> before;
            if (i >= chains) before.push_back(ends[chain]);
            ends[chain] = dag.add(
                [&, chain] {
                    compute(100 * us);
                    std::size_t& mine = last[static_cast<std::size_t>(this_task::worker())];
                    changes += std::exchange(mine, chain) != chain ? 1 : 0;
                },
                before);
        }
        dag.run();
    });
    EXPECT_LT(changes,
              chains * length / 2); // if the farthest from the end always came first, nearly all of them
}

// The machine file says that all cores are equal. From the beginning other programs leave core 3 a fifth of its time.
TEST(hybrid, a_core_that_others_have_slowed_counts_as_slow) {
    const machine on = test::equal_cores(4);
    const auto took = [&](const std::string& policy) {
        engine::model_engine e(make_policy(policy), on,
                               {.workers = 4,
                                .seed = 1,
                                .spin_time = 100 * us,
                                .events = {.cores = {{.rank = 3, .share = 0.2}}}});
        time_ns sum = 0;
        for (int i = 0; i < 2; ++i) {
            e.wait_until_quiescent();
            auto f = [] { batches(10, 40); };
            engine::run_root(e, {[](void* c) { (*static_cast<decltype(f)*>(c))(); }, &f});
            const auto run = *e.last_measured_run();
            sum = run.ended - run.began; // the second run, when the times are known
        }
        return static_cast<double>(sum);
    };
    // A batch has 15.2 ms of work, 4.75 ms at best on 3.2 cores. A long task on the slow core alone takes 10.
    EXPECT_GT(took("steal"), 1.15 * took("hybrid"));
}

} // namespace
} // namespace weft
