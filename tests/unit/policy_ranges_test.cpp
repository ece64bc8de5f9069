// The parts of almost deterministic work stealing, each alone: ranges, the work that is left, the queues of a
// member, the distribution tree, the served levels, and the anchored root. The figures are those of S.
// Shiina's thesis (2021).
#include "policy/fake_context.hpp"
#include "policy/parts/anchored_root.hpp"
#include "policy/parts/distribution_tree.hpp"
#include "policy/parts/memory_groups.hpp"
#include "policy/parts/migration_queues.hpp"
#include "policy/parts/range_members.hpp"
#include "policy/parts/range_task.hpp"
#include "policy/parts/remaining_work.hpp"
#include "policy/parts/served_levels.hpp"
#include "policy/parts/work_range.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>
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

// ---- range_task

TEST(range_task, without_its_range_known_a_task_crosses_nothing) {
    static_assert(std::is_trivially_copyable_v<range_task>, "silent descendants copy the bytes");
    static_assert(sizeof(range_task) <= max_task_bytes);
    task_with_bytes t; // all zero
    auto& part = t.data<range_task>();
    EXPECT_FALSE(part.has(0xff));
    part.range = {0.5, 2.5};
    EXPECT_FALSE(part.crosses());
    part.flags = range_task::known | range_task::returns;
    EXPECT_TRUE(part.crosses());
    EXPECT_TRUE(part.has(range_task::opened | range_task::returns)) << "one of them is enough";
    EXPECT_FALSE(part.has(range_task::opened | range_task::counted));
    part.range = {2.1, 2.5};
    EXPECT_FALSE(part.crosses());
    std::uint8_t all = 0;
    for (const std::uint8_t flag : {range_task::known, range_task::opened, range_task::returns,
                                    range_task::counted, range_task::invited, range_task::descended}) {
        EXPECT_EQ(all & flag, 0) << "two flags share a bit";
        all |= flag;
    }
}

// ---- range_members

/// Two caches, under each of them two workers: the members of level 0 are all, of level 1 the caches, of level 2 the workers.
class members_of_levels : public testing::Test {
protected:
    void attach(bool steals = true) {
        members.attach(load_synthetic("pack:1 [numa] l3:2(size=8192) core:2 l2:1(size=1024) pu:1"), context,
                       true, steals);
        ASSERT_EQ(members.groups().levels(), 3);
    }
    static range_task part(int level, double from, double to, int end,
                           distribution_tree::node* node = nullptr) {
        return {.range = {from, to},
                .node = node,
                .place = 0,
                .end = static_cast<std::int16_t>(end),
                .level = static_cast<std::uint8_t>(level),
                .flags = range_task::known};
    }
    /// Member `i` of the leaf level has a current node over [from, to], which is active.
    distribution_tree::node* lets_steal(double from, double to) {
        auto* const node = members.open(part(2, from, to, 4), nullptr);
        members.activate(node);
        context.woken.clear();
        return node;
    }
    static std::vector<int> ranks(workers range) { return {range.first, range.last}; }
    /// `t` is in no queue that a thief may look into.
    bool is_hidden() {
        for (int level = 0; level < 3; ++level)
            for (int i = 0; i < members.groups().groups(level); ++i)
                if (members.queues(level, i).steal({level, -1, 9, true}, i) != nullptr) return false;
        return true;
    }

    test::fake_context context{4};
    range_members members;
    task_with_bytes t, other, third;
};

TEST_F(members_of_levels, the_first_worker_of_a_member_acts_for_it) {
    attach();
    EXPECT_TRUE(members.is_head(0, 0, 0));
    EXPECT_TRUE(members.is_head(2, 1, 1));
    EXPECT_FALSE(members.is_head(3, 1, 1));
    EXPECT_TRUE(members.is_head(3, 2, 3));
    EXPECT_EQ(ranks(members.heads({1, 0, 1, true})), (std::vector{0, 3}));
    EXPECT_EQ(ranks(range_members::only(2).who), (std::vector{2, 3}));
}

TEST_F(members_of_levels, what_is_sent_reaches_the_owner_alone) {
    attach();
    const placement to = members.send(1, 1, t);
    EXPECT_EQ(to.at, 2);
    EXPECT_EQ(ranks(to.who), (std::vector{2, 3}));
    EXPECT_TRUE(is_hidden());
    EXPECT_EQ(members.queues(1, 0).receive(), nullptr);
    EXPECT_EQ(members.queues(1, 1).receive(), &t);
}

TEST_F(members_of_levels, what_is_passed_may_be_stolen_and_thieves_are_told) {
    attach();
    EXPECT_EQ(members.pass(2, 1, t).at, 1);
    EXPECT_TRUE(context.woken.empty()) << "no range has opened in which its member would be robbed";
    members.adopt(2, 1, part(2, 0, 3, 4, lets_steal(0, 3)));
    EXPECT_EQ(members.pass(2, 1, other).at, 1);
    ASSERT_EQ(context.woken.size(), 1U);
    EXPECT_EQ(ranks(context.woken[0]), (std::vector{0, 3}));
    EXPECT_EQ(members.steal_any(0, {2, 0, 2, true}).t, &other) << "the last one first";
    EXPECT_EQ(members.steal_any(0, {2, 0, 2, true}).t, &t);
}

TEST_F(members_of_levels, a_worker_pushes_to_its_own_member) {
    attach();
    placement to = members.push(1, t, 2, 1, ready_reason::spawned);
    EXPECT_EQ(to.at, 1);
    EXPECT_EQ(ranks(to.who), (std::vector{1, 2})) << "nobody may steal it yet";
    members.adopt(2, 1, part(2, 0, 3, 4, lets_steal(0, 3)));
    to = members.push(1, other, 2, 1, ready_reason::continuation);
    EXPECT_EQ(ranks(to.who), (std::vector{0, 3}));
    EXPECT_EQ(members.queues(2, 1).pop(), &other);
    EXPECT_EQ(members.queues(2, 1).pop(), &t);
}

TEST_F(members_of_levels, above_the_leaves_only_a_head_keeps_what_it_leaves_behind) {
    attach();
    EXPECT_EQ(members.push(3, t, 1, 1, ready_reason::continuation).at, 2) << "worker 3 acts for no cache";
    EXPECT_EQ(members.queues(1, 1).pop(), &t);
    EXPECT_EQ(members.push(2, t, 1, 0, ready_reason::spawned).at, 0) << "a new task goes to its owner";
    EXPECT_EQ(members.queues(1, 0).pop(), &t);
    EXPECT_EQ(members.push(2, t, 1, 0, ready_reason::continuation).at, 2);
    EXPECT_EQ(members.queues(1, 1).pop(), &t);
}

TEST_F(members_of_levels, what_was_exposed_too_late_goes_back_as_the_oldest) {
    attach();
    members.push(0, other, 2, 0, ready_reason::spawned);
    EXPECT_EQ(members.push(2, t, 2, 0, ready_reason::exposed).at, 0)
        << "worker 2 may not steal from worker 0 any more";
    EXPECT_EQ(members.steal_any(1, {2, 0, 1, true}).t, &t);
    auto* const node = lets_steal(0, 4 - 1e-5);
    members.adopt(2, 2, part(2, 0, 4, 4, node));
    EXPECT_EQ(members.push(2, t, 2, 0, ready_reason::exposed).at, 2) << "now it may";
}

TEST_F(members_of_levels, a_range_opens_once_and_its_members_are_told) {
    attach();
    auto* const node = members.open(part(2, 0.5, 3.25, 4), nullptr);
    ASSERT_NE(node, nullptr);
    EXPECT_FALSE(members.own_steal_range(2, 0)) << "none of its search roots has ended";
    members.activate(node);
    members.activate(node);
    members.activate(nullptr); // a group without a node
    ASSERT_EQ(context.woken.size(), 1U);
    EXPECT_EQ(ranks(context.woken[0]), (std::vector{0, 4}));
    ASSERT_TRUE(members.own_steal_range(2, 0));
    EXPECT_EQ(members.own_steal_range(2, 0)->hi, 3);
    EXPECT_FALSE(members.own_steal_range(2, 1)) << "it has no node yet";
    members.close(*node);
    EXPECT_FALSE(members.own_steal_range(2, 0));
}

TEST_F(members_of_levels, those_in_the_middle_of_a_range_get_the_node_of_the_task_that_has_ended) {
    attach();
    auto* const node = lets_steal(0.5, 3);
    members.hand_over(part(2, 0.5, 3, 4, node));
    for (const int i : {1, 2}) EXPECT_TRUE(members.own_steal_range(2, i)) << i;
    EXPECT_FALSE(members.own_steal_range(2, 3)) << "the range ends before it";
    auto* const wide = lets_steal(0.5, 3.5);
    members.hand_over(part(2, 0.5, 3.5, 4, wide));
    EXPECT_TRUE(members.own_steal_range(2, 3)) << "a part of it belongs to the range";
}

TEST_F(members_of_levels, a_range_is_handed_to_no_member_behind_the_end) {
    attach();
    auto* const node = members.open(part(2, 0.5, 3.5, 2), nullptr); // of a group of two members
    members.activate(node);
    members.hand_over(part(2, 0.5, 3.5, 2, node));
    EXPECT_TRUE(members.own_steal_range(2, 1));
    EXPECT_FALSE(members.own_steal_range(2, 2));
}

TEST_F(members_of_levels, only_heads_steal_for_their_member) {
    attach();
    auto* const node = members.open(part(1, 0.5, 1.5, 2), nullptr);
    members.activate(node);
    members.adopt(1, 1, part(1, 1, 1.5, 2, node));
    members.adopt(1, 1, part(1, 1, 1.5, 2)); // a task without a node takes none away
    EXPECT_TRUE(members.steal_range_of(2, 1));
    EXPECT_FALSE(members.steal_range_of(3, 1));
}

TEST_F(members_of_levels, a_thief_draws_among_the_others_of_the_range) {
    attach();
    const member_range range{2, 1, 3, true};
    members.queues(2, 1).push(t);
    members.queues(2, 2).push(other);
    members.queues(2, 3).push(third);
    std::set<place_id> looked_at;
    for (std::uint32_t drawn = 0; drawn < 2; ++drawn) {
        context.draws = {drawn};
        looked_at.insert(members.steal_one(2, range, false).from);
    }
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{2, 2}));
    EXPECT_EQ(looked_at, (std::set<place_id>{1, 3})) << "a thief looks at itself, or at one outside";
    EXPECT_EQ(members.steal_one(2, {2, 2, 2, true}, true).t, nullptr) << "a range without others";
    EXPECT_EQ(context.bounds.size(), 2U);
    EXPECT_EQ(members.steal_any(2, range).t, nullptr) << "its own task is no loot";
}

TEST_F(members_of_levels, hidden_frames_are_asked_for_only_of_a_member_that_runs_a_task_of_the_range) {
    attach();
    context.draws = {0, 0, 0};
    // Member 1 runs what is local, which belongs to this range, but not to one that ends within the member.
    EXPECT_TRUE(members.steal_one(2, {2, 1, 2, true}, true).ask);
    EXPECT_FALSE(members.steal_one(2, {2, 1, 2, true}, false).ask);
    context.draws = {0};
    EXPECT_FALSE(members.steal_one(0, {2, 0, 1, false}, true).ask);
}

TEST_F(members_of_levels, without_stealing_no_range_opens) {
    attach(false);
    auto* const node = members.open(part(2, 0, 3, 4), nullptr);
    members.activate(node);
    EXPECT_TRUE(context.woken.empty());
    EXPECT_FALSE(members.own_steal_range(2, 0));
    EXPECT_FALSE(members.steal_range_of(0, 2));
    EXPECT_EQ(ranks(members.push(0, t, 2, 0, ready_reason::continuation).who), (std::vector{0, 1}));
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
