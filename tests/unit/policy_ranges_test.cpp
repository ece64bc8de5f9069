// The parts of almost deterministic work stealing, each alone: ranges, the work that is left, the queues of a
// member, the distribution tree, the served levels, and the anchored root. The figures are those of S.
// Shiina's thesis (2021).
#include "policy/fake_context.hpp"
#include "policy/parts/anchored_root.hpp"
#include "policy/parts/distribution_tree.hpp"
#include "policy/parts/memory_groups.hpp"
#include "policy/parts/migration_queues.hpp"
#include "policy/parts/remaining_work.hpp"
#include "policy/parts/served_levels.hpp"
#include "policy/parts/work_range.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace weft {
namespace {

using test::task_with_bytes;

// ---- work_range

/// Fig. 4.12: of [0, 8], the continuation keeps 4.3 and the new task gets 3.7. It goes to member 4, and
/// crosses.
TEST(work_range, the_continuation_keeps_the_lower_part) {
    const work_range all{0, 8};
    EXPECT_DOUBLE_EQ(all.cut(4.3 / 8, 8), 4.3);
    const work_range upper{4.3, 8};
    EXPECT_EQ(upper.owner(), 4);
    EXPECT_TRUE(upper.crosses());
    EXPECT_TRUE((work_range{3, 4}).crosses()); // both ends are floored
    EXPECT_FALSE((work_range{3.2, 3.9}).crosses());
}

TEST(work_range, a_cut_snaps_to_integers_and_stays_below_the_last_member) {
    EXPECT_EQ((work_range{0, 3}).cut(1.0 / 3 + 1e-6, 3), 1);
    EXPECT_EQ((work_range{0, 3}).cut(1.0 / 3 + 1e-3, 3), 1.003);
    EXPECT_EQ(static_cast<int>((work_range{0, 8}).cut(1, 8)), 7); // member 8 does not exist
    EXPECT_EQ((work_range{2.5, 2.5}).cut(.5, 8), 2.5);
}

/// 3.2 of the specification: a leaf after work a, of own work w, is allocated to floor(P (1 - (a + w) / W)).
TEST(work_range, equal_leaves_go_where_the_closed_form_says) {
    for (const int members : {3, 4, 5, 7, 8, 64}) {
        work_range rest{0, static_cast<double>(members)};
        for (int leaf = 0; leaf < 256; ++leaf) {
            const double left = 255 - leaf;
            const double middle = rest.cut(left / (left + 1), members);
            const double exact = members * (1 - (leaf + 1) / 256.0);
            EXPECT_EQ(static_cast<int>(middle), static_cast<int>(exact + 1e-9)) << members << ' ' << leaf;
            rest.to = middle;
        }
    }
}

TEST(member_range, ends_before_an_integer_and_fits_one_word) {
    const member_range inner = member_range::of({1.5, 3}, 2);
    EXPECT_EQ(inner.lo, 1);
    EXPECT_EQ(inner.hi, 2);
    EXPECT_TRUE(inner.edge);
    const member_range back = member_range::unpacked(inner.packed());
    EXPECT_EQ(back.level, 2);
    EXPECT_EQ(back.lo, 1);
    EXPECT_EQ(back.hi, 2);
    EXPECT_TRUE(back.edge);
    const member_range open = member_range::of({1.5, 3.25}, 0);
    EXPECT_EQ(open.hi, 3);
    EXPECT_FALSE(open.edge);
    EXPECT_TRUE(open.contains(3));
    EXPECT_FALSE(open.contains(4));
}

// ---- remaining_work

TEST(remaining_work, is_shared_by_hints_and_equally_without) {
    remaining_work eight = remaining_work::of_group(8);
    EXPECT_DOUBLE_EQ(eight.after_hinted(3.7, 0), 4.3 / 8);
    EXPECT_DOUBLE_EQ(eight.after_hinted(4.3, 0), 0);
    EXPECT_DOUBLE_EQ(eight.after_hinted(1, 0), 0); // more than there was
    remaining_work unknown = remaining_work::of_group(std::numeric_limits<double>::quiet_NaN());
    EXPECT_DOUBLE_EQ(unknown.after_hinted(5, 3), .75); // four children in all
    EXPECT_DOUBLE_EQ(unknown.after_hinted(5, 0), .5);
    remaining_work half = remaining_work::of_group(4);
    EXPECT_DOUBLE_EQ(half.after_hinted(0, 1), .5); // a child without a hint
    EXPECT_DOUBLE_EQ(half.after_hinted(1, 0), .5);
    remaining_work measured = remaining_work::of_group(0);
    measured.measured = 300;
    EXPECT_DOUBLE_EQ(measured.after_measured(100), 2.0 / 3);
    EXPECT_DOUBLE_EQ(measured.after_measured(100), .5);
}

// ---- migration_queues: Algorithm 4.3

TEST(migration_queues, passed_tasks_come_in_their_order_and_their_children_before_the_next) {
    migration_queues q;
    task_with_bytes first, second, child, root;
    q.pass(first);
    q.pass(second);
    EXPECT_EQ(q.pop(), &first); // the migrated ones are in use
    q.push(child);
    EXPECT_EQ(q.pop(), &child);
    q.push(child);
    q.send(root);
    EXPECT_EQ(q.receive(), &root); // from here on the local one is in use
    EXPECT_EQ(q.receive(), nullptr);
    q.push(first);
    EXPECT_EQ(q.pop(), &first);
    EXPECT_EQ(q.pop(), &child);
    EXPECT_EQ(q.pop(), &second);
    EXPECT_EQ(q.pop(), nullptr);
}

TEST(migration_queues, the_ends_of_a_range_share_one_queue_each) {
    const member_range inner{0, 1, 3, false}, whole{0, 1, 3, true};
    migration_queues q;
    task_with_bytes local, migrated;
    q.push(local);
    q.pass(migrated);
    EXPECT_EQ(q.steal(inner, 3), &migrated); // at the upper end what is local belongs to the next range
    EXPECT_EQ(q.steal(inner, 3), nullptr);
    EXPECT_FALSE(q.runs_task_of(inner, 3));
    EXPECT_TRUE(q.runs_task_of(whole, 3)); // the range ends on an integer
    EXPECT_EQ(q.steal(whole, 3), &local);
    q.pass(migrated);
    EXPECT_EQ(q.steal(inner, 1), nullptr); // at the lower end what was passed belongs to the range before
    EXPECT_EQ(q.steal(inner, 2), &migrated);
}

// ---- distribution_tree

/// Fig. 4.14: the range of a thief is that of the topmost active node over its own.
TEST(distribution_tree, the_range_grows_from_the_bottom_up) {
    distribution_tree tree;
    tree.attach(8);
    auto* const whole = tree.open(0, {0, 0, 7, true}, nullptr);
    auto* const half = tree.open(4, {0, 4, 7, true}, whole);
    auto* const quarter = tree.open(6, {0, 6, 7, true}, half);
    EXPECT_FALSE(tree.steal_range(6, 0, 6));
    EXPECT_TRUE(distribution_tree::activate(*quarter));
    EXPECT_FALSE(distribution_tree::activate(*quarter));
    EXPECT_EQ(tree.steal_range(6, 0, 6)->lo, 6);
    EXPECT_FALSE(tree.steal_range(4, 0, 4));
    distribution_tree::activate(*whole);
    EXPECT_EQ(tree.steal_range(6, 0, 6)->lo, 0);
    EXPECT_EQ(tree.steal_range(4, 0, 4)->hi, 7);
    EXPECT_FALSE(tree.steal_range(3, 0, 3)); // no search root has reached it
    tree.move_to(3, whole);
    EXPECT_EQ(tree.steal_range(3, 0, 3)->hi, 7);
}

/// I1 of src/policy/parts/distribution_tree.hpp.
TEST(distribution_tree, stale_nodes_give_no_range_of_others) {
    distribution_tree tree;
    tree.attach(4);
    auto* const first = tree.open(0, {1, 0, 3, true}, nullptr);
    tree.move_to(2, first);
    distribution_tree::activate(*first);
    EXPECT_TRUE(tree.steal_range(2, 1, 2));
    EXPECT_FALSE(tree.steal_range(2, 2, 2)); // of another level
    tree.close(*first);
    EXPECT_FALSE(tree.steal_range(0, 1, 0));
    EXPECT_FALSE(tree.steal_range(2, 1, 2));
    auto* const again = tree.open(0, {1, 0, 1, true}, nullptr);
    EXPECT_EQ(again, first);
    distribution_tree::activate(*again);
    EXPECT_FALSE(tree.steal_range(2, 1, 2)); // member 2 still has the node, which is another group's now
    EXPECT_TRUE(tree.steal_range(0, 1, 0));
}

TEST(distribution_tree, groups_may_be_nested_deeper_than_there_are_nodes) {
    distribution_tree tree;
    tree.attach(1);
    distribution_tree::node* last = nullptr;
    int opened = 0;
    while (auto* const n = tree.open(0, {0, 0, 0, true}, last)) {
        last = n;
        ++opened;
    }
    EXPECT_GE(opened, 100);
    tree.close(*last);
    EXPECT_EQ(tree.open(0, {0, 0, 0, true}, nullptr), last);
}

// ---- served_levels: Fig. 5.2 with four caches of four workers

TEST(served_levels, the_deepest_memory_group_with_an_open_group_counts) {
    test::fake_context context(16);
    memory_groups groups;
    groups.attach(load_synthetic("pack:1 [numa] l3:4(size=8192) core:4 l2:1(size=1024) pu:1"), context, true);
    ASSERT_EQ(groups.levels(), 3);
    EXPECT_EQ(groups.count(), 21);
    EXPECT_EQ(groups.number(2, 3), 8);
    served_levels levels;
    levels.attach(groups, context, true);
    EXPECT_EQ(levels.served_by(5), 0);
    levels.descend(0, {0, 1}, 1);
    EXPECT_EQ(levels.served_by(5), 1);
    levels.descend(1, {1, 2}, 2);
    EXPECT_EQ(levels.served_by(5), 2); // under the second cache
    EXPECT_EQ(levels.served_by(3), 1);
    levels.ascend(1, {1, 2}, 2);
    ASSERT_EQ(context.woken.size(), 1U);
    EXPECT_EQ(context.woken[0].first, 4);
    EXPECT_EQ(context.woken[0].last, 8);
    EXPECT_EQ(levels.served_by(5), 1);
}

TEST(served_levels, a_task_that_waits_for_another_has_all_levels_served) {
    test::fake_context context(4);
    memory_groups groups;
    groups.attach(load_synthetic("core:4 pu:1"), context, true);
    served_levels levels;
    levels.attach(groups, context, true);
    EXPECT_FALSE(levels.all_are_served());
    levels.resume(); // of a wait that was not counted
    levels.stall();
    EXPECT_TRUE(levels.all_are_served());
    EXPECT_EQ(context.woken.size(), 1U);
    levels.resume();
    EXPECT_FALSE(levels.all_are_served());
    served_levels one;
    one.attach(groups, context, false);
    EXPECT_TRUE(one.all_are_served());
    EXPECT_EQ(one.served_by(2), groups.leaf_level());
}

// ---- anchored_root

TEST(anchored_root, one_at_a_time) {
    anchored_root root;
    task_with_bytes first, second;
    root.first_worker_is_busy(true);
    EXPECT_FALSE(root.invite(first));
    root.first_worker_is_busy(false);
    EXPECT_TRUE(root.invite(first));
    EXPECT_FALSE(root.invite(second)); // the first one is still on its way
    root.arrived();
    EXPECT_TRUE(root.anchor(first));
    EXPECT_FALSE(root.invite(second));
    EXPECT_FALSE(root.anchor(second));
    root.finished(second);
    EXPECT_FALSE(root.invite(second));
    root.finished(first);
    EXPECT_TRUE(root.invite(second));
}

} // namespace
} // namespace weft
