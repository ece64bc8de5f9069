// runtime_options::waiting: how many children of groups may wait in the queues of a breadth-first order.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "engine/support.hpp"

namespace weft {
namespace {

/// A binary tree of groups, and how many of its children waited at once.
struct tree {
    std::atomic<long> waiting{0}, most{0}, leaves{0};

    void run(int depth) { // NOLINT(misc-no-recursion)
        if (depth == 0) return static_cast<void>(leaves.fetch_add(1));
        task_group g;
        for (int i = 0; i < 2; ++i) {
            const long now = waiting.fetch_add(1) + 1;
            for (long before = most.load(); before < now && !most.compare_exchange_weak(before, now);) {}
            g.run([this, depth] {
                waiting.fetch_sub(1);
                run(depth - 1);
            });
        }
        g.wait();
    }
};

constexpr int depth = test::sanitized ? 9 : 12;
constexpr long leaves = 1L << depth;

class waiting : public testing::TestWithParam<test::setup> {};
INSTANTIATE_TEST_SUITE_P(all, waiting,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite, {1, 2})),
                         test::setup_name{});

TEST_P(waiting, children_are_called_when_enough_wait) {
    for (const std::size_t most : {std::size_t{0}, std::size_t{40}}) {
        runtime_options o = GetParam().options();
        o.waiting = most;
        runtime rt(o);
        tree t;
        rt.run([&] { t.run(depth); });
        EXPECT_EQ(t.leaves, leaves);
    }
}

TEST(waiting_children, are_bounded_in_a_breadth_first_order) {
    for (const int workers : {1, 2, 4}) {
        runtime_options o = test::setup{"share", workers}.options();
        tree unbounded, bounded;
        runtime(o).run([&] { unbounded.run(depth); });
        setenv("WEFT_WAITING", "100", 1);
        runtime(o).run([&] { bounded.run(depth); });
        unsetenv("WEFT_WAITING");
        EXPECT_EQ(bounded.leaves, leaves);
        // A single worker takes all of a level before the next one. Where there are more, the operating system
        // may hold one up with a task whose whole subtree then comes later: no bound holds.
        if (workers == 1) { EXPECT_GT(unbounded.most, leaves / 2) << "the order is breadth-first"; }
        // Each worker looks at the counts once in 32 spawns.
        EXPECT_LE(bounded.most, 100 + workers * 34) << workers;
    }
}

} // namespace
} // namespace weft
