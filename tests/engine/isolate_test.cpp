// Isolated regions: while one lasts, its worker runs nothing else, and its caller goes on on the same worker and thread.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

class isolation : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, isolation,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

/// A nested loop with children of every kind, each of which may wait.
void inner_work() {
    parallel_for(0, 16, [](int) { this_task::yield(); }, {.grain = 1});
    task_group g;
    for (int i = 0; i < 4; ++i) g.run([] { join([] { this_task::yield(); }, [] {}); });
    g.wait();
}

// The classical bug: a value of the worker, around a nested loop.
TEST_P(isolation, a_value_of_the_worker_around_a_nested_loop) {
    per_worker<int> current(-1);
    std::atomic<int> wrong{0}, moved{0};
    rt_.run([&] {
        parallel_for(0, 100,
                     [&](int i) {
                         int& own = current.local();
                         own = i;
                         const auto thread = std::this_thread::get_id();
                         isolate([&] {
                             if (own != i) ++wrong;
                             inner_work();
                             if (std::this_thread::get_id() != thread) ++moved;
                         });
                         if (own != i || &current.local() != &own) ++wrong;
                         if (std::this_thread::get_id() != thread) ++moved;
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(moved.load(), 0);
}

// A lock of the thread, held across a nested loop: an outer task on this worker would deadlock at it.
TEST_P(isolation, a_lock_of_the_thread_around_a_nested_loop) {
    std::mutex lock;
    long sum = 0;
    rt_.run([&] {
        parallel_for(0, 50,
                     [&](int i) {
                         const std::lock_guard held(lock);
                         isolate(inner_work);
                         sum += i;
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(sum, 1225);
}

TEST_P(isolation, results_and_exceptions) {
    rt_.run([&] {
        EXPECT_EQ(isolate([] { return test::fib(12); }), 144);
        EXPECT_EQ(*isolate([] { return std::make_unique<int>(3); }), 3);
        EXPECT_EQ(test::failure_of([] {
                      isolate([] {
                          parallel_for(0, 9, [](int i) {
                              if (i == 5) throw test::failure{7};
                          });
                      });
                  }),
                  7);
        const auto [a, b] =
            join([] { return isolate([] { return test::fib(10); }); }, [] { return test::fib(11); });
        EXPECT_EQ(a + b, 144);
        int with_context = 0;
        isolate([&](context ctx) { join(ctx, [&](context) { ++with_context; }, [] {}); });
        EXPECT_EQ(with_context, 1);
    });
}

// A region is a call: a cancelled group does not leave it out. Children that are added inside are left out.
TEST_P(isolation, in_a_cancelled_group) {
    rt_.run([] {
        task_group g;
        int result = 0;
        std::atomic<int> ran{0};
        g.run([&] {
            g.cancel();
            result = isolate([&] {
                EXPECT_TRUE(this_task::is_cancelled());
                task_group inner;
                EXPECT_TRUE(inner.is_cancelled());
                inner.wait();
                return 5;
            });
            ++ran;
        });
        g.wait();
        EXPECT_EQ(result, ran.load() * 5);
    });
}

TEST_P(isolation, regions_in_regions) {
    std::atomic<int> wrong{0}, ran{0};
    per_worker<std::vector<int>> stacks;
    const auto nest = [&](const auto& self, int depth, int i) -> void {
        auto& own = stacks.local();
        own.push_back(i);
        const auto size = own.size();
        isolate([&] {
            inner_work();
            if (depth > 0) parallel_for(0, 3, [&](int j) { self(self, depth - 1, j); }, {.grain = 1});
        });
        if (&stacks.local() != &own || own.size() != size || own.back() != i) ++wrong;
        own.pop_back();
        ++ran;
    };
    rt_.run([&] { parallel_for(0, 6, [&](int i) { nest(nest, 2, i); }, {.grain = 1}); });
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(ran.load(), 6 * (1 + 3 + 9));
}

// What the region has started and not waited for is a part of it.
TEST_P(isolation, a_region_ends_with_all_its_tasks) {
    rt_.run([&] {
        std::atomic<int> ended{0};
        std::vector<future<void>> later;
        isolate([&] {
            for (int i = 0; i < 5; ++i)
                later.push_back(async([&] {
                    inner_work();
                    ++ended;
                }));
        });
        EXPECT_EQ(ended.load(), 5);
        for (auto& f : later) f.get();
    });
}

// A region may wait for tasks outside of it: other workers run them.
TEST_P(isolation, waits_for_tasks_outside) {
    if (GetParam().workers == 1) GTEST_SKIP() << "the region has the only worker";
    const std::string& policy = GetParam().policy;
    if (policy != "steal" && policy != "steal-parent-first" && policy != "share" && policy != "near")
        GTEST_SKIP() << "the policy may keep the other task for this worker";
    rt_.run([&] {
        latch outer(1), inner(1);
        join(
            [&] {
                isolate([&] {
                    inner.count_down();
                    outer.wait();
                });
            },
            [&] {
                inner.wait();
                outer.count_down();
            });
    });
}

TEST(isolate, in_a_thread_that_is_no_worker) {
    EXPECT_EQ(isolate([] { return test::fib(10); }), 55);
    EXPECT_EQ(test::failure_of([] { isolate([] { throw test::failure{2}; }); }), 2);
}

// In a team, and with what a task of a graph holds.
TEST(isolate, in_tasks_of_graphs) {
    runtime rt({.workers = 3, .pin = "off"});
    rt.run([] {
        graph dag;
        int x = 0;
        std::atomic<int> in_team{0};
        for (int i = 0; i < 20; ++i) {
            dag.add([&] { isolate([&] { inner_work(), ++x; }); }, commutative(x));
            dag.add(
                [&] {
                    parallel_for(0, 4, [&](int) { isolate([&] { inner_work(), ++in_team; }); }, {.grain = 1});
                },
                cores(2));
        }
        dag.run();
        EXPECT_EQ(x, 20);
        EXPECT_EQ(in_team.load(), 80);
    });
}

// In virtual time: the region runs on its worker alone, and what the worker had hidden goes to the others.
TEST(isolate, on_a_modelled_machine) {
    runtime rt({.workers = 4,
                .policy = "steal",
                .engine = "model",
                .machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml",
                .costs = "declared"});
    std::vector<int> outside(8, -1), inside;
    rt.run([&] {
        parallel_for(0, 8,
                     [&](int i) {
                         outside[static_cast<std::size_t>(i)] = this_task::worker();
                         if (i > 0) return cost(100'000);
                         const int here = this_task::worker();
                         isolate([&] {
                             parallel_for(0, 10,
                                          [&](int) { cost(200'000), inside.push_back(this_task::worker()); },
                                          {.grain = 1});
                         });
                         EXPECT_EQ(this_task::worker(), here);
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(inside, std::vector<int>(10, outside[0]));
    for (std::size_t i = 1; i < outside.size(); ++i) EXPECT_NE(outside[i], outside[0]) << i;
}

} // namespace
} // namespace weft
