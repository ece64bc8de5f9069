// ctest: timeout=600 labels=slow,not_tsan
//
// What tasks do while they are preempted: joins, groups, exceptions, locks, graphs, teams and gates give the same results.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/preempted.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

using test::preempting;
using namespace std::chrono_literals;

long fib(int n) {
    if (n < 2) {
        test::compute(200);
        return n;
    }
    const auto [a, b] = join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

long tree(int depth) {
    if (depth == 0) {
        test::compute(5'000);
        return 1;
    }
    std::atomic<long> sum{0};
    task_group g;
    for (int i = 0; i < 3; ++i) g.run([&, depth] { sum += tree(depth - 1); });
    g.wait();
    return sum;
}

/// Under all types and policies: those that hold for tasks that allocate nothing.
class preempted : public testing::TestWithParam<test::setup> {};
std::vector<test::setup> setups() {
    std::vector<test::setup> all;
    for (const std::string& policy : test::policies_of_suite)
        for (const int workers : {1, 3}) all.push_back({policy, workers});
    return all;
}
INSTANTIATE_TEST_SUITE_P(all, preempted, testing::ValuesIn(setups()), test::setup_name{});

TEST_P(preempted, lazy_joins_and_groups_are_right) {
    for (const std::string how : {"klt:interval=100us", "yield:interval=100us"}) {
        runtime rt(preempting(how, GetParam().workers, GetParam().policy));
        EXPECT_EQ(rt.run([] { return fib(17); }), 1597) << how;
        if (how.starts_with("klt")) {
            EXPECT_EQ(rt.run([] { return tree(4); }), 81) << how;
        }
    }
}

/// No task that spins keeps the other one from running, whatever the order of the policy.
TEST_P(preempted, a_spinning_pair_ends) {
    for (const std::string how : {"klt:interval=200us", "yield:interval=200us"}) {
        runtime rt(preempting(how, GetParam().workers, GetParam().policy));
        const int count = 2 * GetParam().workers;
        test::spin_barrier all(count);
        std::atomic<int> passed{0};
        test::run_all(rt, count, [&](int) {
            for (int r = 0; r < 3; ++r) all.wait();
            ++passed;
        });
        EXPECT_EQ(passed, count) << how;
    }
}

/// Of the halves of a join, too: the first one spins until the second one, which was hidden, has begun.
TEST(preempted_programs, a_hidden_half_begins) {
    for (const std::string how : {"klt", "yield"}) {
        runtime rt(preempting(how, 1));
        std::atomic<bool> begun{false};
        rt.run([&] {
            join(
                [&] {
                    while (!begun) {}
                },
                [&] { begun = true; });
        });
        EXPECT_TRUE(begun);
    }
}

TEST(preempted_programs, exceptions_come_through) {
    runtime rt(preempting("klt:interval=100us", 2));
    for (int round = 0; round < test::rounds(30); ++round) {
        std::atomic<int> caught{0};
        test::run_all(rt, 8, [&](int i) {
            try {
                join([&] { test::compute(100'000); },
                     [&] {
                         test::compute(50'000);
                         throw std::runtime_error(std::to_string(i));
                     });
            } catch (const std::runtime_error& e) {
                test::compute(50'000);
                caught += e.what() == std::to_string(i);
            }
        });
        EXPECT_EQ(caught, 8);
        EXPECT_THROW(test::run_all(rt, 8, [&](int) { throw std::logic_error("all of them"); }),
                     std::logic_error);
    }
}

TEST(preempted_programs, a_cancelled_group_ends) {
    runtime rt(preempting("klt:interval=100us", 2));
    for (int round = 0; round < test::rounds(20); ++round)
        rt.run([&] {
            task_group g;
            std::vector<int> moved_with_it(100);
            for (int i = 0; i < 10; ++i)
                g.run([&g, moved_with_it] {
                    while (!g.is_cancelled()) test::compute(static_cast<int>(moved_with_it.size()));
                });
            g.run([&] { g.cancel(); });
            g.wait();
        });
}

/// The locks below them keep the tick away (Y4), and each way into the runtime marks its own thread (Y1).
TEST(preempted_programs, locks_and_waits_work) {
    for (const std::string how : {"klt:interval=100us", "yield:interval=100us"}) {
        runtime rt(preempting(how, 2));
        mutex m;
        latch all(8);
        long unguarded = 0;
        test::run_all(rt, 8, [&](int) {
            for (int r = 0; r < 30; ++r) {
                const std::lock_guard lock(m);
                const long seen = unguarded;
                test::compute(20'000);
                unguarded = seen + 1;
            }
            all.count_down();
            all.wait();
            this_task::yield();
        });
        EXPECT_EQ(unguarded, 240);
    }
    runtime rt(preempting("klt:interval=100us", 2));
    std::atomic<int> slept{0};
    test::run_all(rt, 20, [&](int i) {
        for (int r = 0; r < 5; ++r) this_task::sleep_for(std::chrono::microseconds(100 * i));
        ++slept;
    });
    EXPECT_EQ(slept, 20);
}

/// Large closures are freed in the runtime (Y5).
TEST(preempted_programs, futures_and_big_closures_work) {
    runtime rt(preempting("klt:interval=100us", 2));
    const long sum = rt.run([] {
        std::vector<future<long>> parts;
        for (int i = 0; i < 40; ++i) {
            const std::vector<long> carried(2000, i);
            parts.push_back(async([carried] { return std::accumulate(carried.begin(), carried.end(), 0L); }));
        }
        long all = 0;
        for (auto& f : parts) all += f.get();
        return all;
    });
    EXPECT_EQ(sum, 2000L * 780);
}

TEST(preempted_programs, graphs_work) {
    for (const std::string policy : {"steal", "share", "cab"}) {
        runtime rt(preempting("klt:interval=100us", 2, policy));
        for (int round = 0; round < test::rounds(5); ++round) {
            std::vector<long> cells(20, 0);
            rt.run([&] {
                graph g;
                for (int r = 0; r < 10; ++r)
                    for (std::size_t c = 0; c + 1 < cells.size(); ++c)
                        g.add([&, c] { test::compute(5'000), cells[c + 1] += cells[c] + 1; }, read(cells[c]),
                              write(cells[c + 1]));
                g.run();
            });
            std::vector<long> expected(20, 0);
            for (int r = 0; r < 10; ++r)
                for (std::size_t c = 0; c + 1 < expected.size(); ++c) expected[c + 1] += expected[c] + 1;
            EXPECT_EQ(cells, expected) << policy;
        }
    }
}

TEST(preempted_programs, teams_and_regions_work) {
    runtime rt(preempting("klt:interval=200us", 3));
    std::atomic<int> members{0};
    rt.run([&] {
        for (int round = 0; round < 5; ++round) {
            graph g;
            g.add(
                [&] {
                    test::compute(1'000'000);
                    ++members;
                },
                cores(2));
            for (int i = 0; i < 4; ++i) g.add([&] { test::compute(1'000'000); });
            g.run();
            isolate([&] { members += static_cast<int>(fib(10) == 55); });
        }
    });
    EXPECT_GE(members, 10);
}

/// Both handlers work on the same chain, and a yielding task takes the alternate stack of no other thread with it (Y7).
TEST(preempted_programs, thieves_ask_preempted_tasks) {
    for (const std::string how : {"klt:interval=100us", "yield:interval=100us"}) {
        runtime rt(preempting(how, 4));
        for (int round = 0; round < test::rounds(5); ++round) {
            std::atomic<int> ran{0};
            rt.run([&] {
                task_group g;
                for (int i = 0; i < 6; ++i)
                    g.run([&] {
                        for (int k = 0; k < 5; ++k)
                            join([&] { test::compute(1'000'000), ++ran; },
                                 [&] { test::compute(1'000'000), ++ran; });
                    });
                g.wait();
            });
            EXPECT_EQ(ran, 60) << how;
        }
    }
}

TEST(preempted_programs, a_trace_can_be_written) {
    const std::string file = testing::TempDir() + "preempted.weft-trace";
    auto o = preempting("klt:interval=200us", 2);
    o.trace = file;
    {
        runtime rt(o);
        test::spin_barrier all(6);
        test::run_all(rt, 6, [&](int) { all.wait(); });
        EXPECT_GT(test::preempter_of(rt).stops(), 0U);
    }
    EXPECT_EQ(std::remove(file.c_str()), 0);
}

TEST(preempted_programs, what_cannot_be_honoured_is_refused) {
    for (const std::string how :
         {"on", "klt:", "klt:interval", "klt:interval=1", "klt:interval=10us", "klt:interval=2h",
          "klt:timer=each", "klt:groups=2", "klt:timer=hybrid", "klt:timer=hybrid,groups=0", "klt:park=bench",
          "klt:when=now", "yield,interval=1ms"})
        EXPECT_THROW(runtime{preempting(how)}, error) << how;
    auto o = preempting("klt");
    o.engine = "model";
    EXPECT_THROW(runtime{o}, error);
}

} // namespace
} // namespace weft
