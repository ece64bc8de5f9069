// The parts that say what a subtree is, how large it is, where it belongs, and when the next one may begin:
// each by itself. The vectors are those of Chen & Guo 2017, 3.4.
#include "policy/fake_context.hpp"
#include "policy/parts/bi_tier_partition.hpp"
#include "policy/parts/kept_subtrees.hpp"
#include "policy/parts/subtree_activity.hpp"
#include "policy/parts/subtree_guard.hpp"
#include "policy/parts/subtree_sizes.hpp"
#include "policy/parts/tree_part.hpp"

#include <weft/hints.hpp>
#include <weft/impl/group.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t mega = std::size_t{1} << 20;

// ---- subtree_guard

/// C2 of policy/cab.cpp.
TEST(subtree_guard, a_socket_begins_one_subtree_at_a_time) {
    subtree_guard guard;
    EXPECT_TRUE(guard.may_begin());
    EXPECT_FALSE(guard.has_subtree());
    guard.begin();
    EXPECT_FALSE(guard.may_begin());
    EXPECT_TRUE(guard.has_subtree());
    guard.end();
    EXPECT_TRUE(guard.may_begin());
    EXPECT_FALSE(guard.has_subtree());
}

TEST(subtree_guard, only_the_first_share_asks_for_a_wake_up) {
    subtree_guard guard;
    guard.begin();
    EXPECT_TRUE(guard.share());
    EXPECT_TRUE(guard.may_begin());
    EXPECT_FALSE(guard.share());
    EXPECT_TRUE(guard.may_begin());
}

TEST(subtree_guard, a_socket_is_shared_until_it_has_no_subtree_left) {
    subtree_guard guard;
    guard.begin();
    guard.share();
    guard.begin(); // beside the one that waits
    EXPECT_TRUE(guard.may_begin());
    guard.end();
    EXPECT_TRUE(guard.has_subtree());
    EXPECT_TRUE(guard.may_begin());
    guard.end();
    EXPECT_FALSE(guard.has_subtree());
    guard.begin();
    EXPECT_FALSE(guard.may_begin()) << "what an earlier subtree waited for counts no more";
    EXPECT_TRUE(guard.share());
}

// ---- subtree_activity

/// L3 and L4 of policy/laws.cpp.
TEST(subtree_activity, the_head_may_begin_when_the_last_active_task_has_left) {
    subtree_activity activity;
    EXPECT_TRUE(activity.may_begin(4));
    activity.enter();
    activity.enter();
    EXPECT_FALSE(activity.may_begin(4));
    EXPECT_FALSE(activity.leave());
    EXPECT_FALSE(activity.may_begin(4));
    EXPECT_TRUE(activity.leave()) << "the caller wakes the head";
    EXPECT_TRUE(activity.may_begin(4));
}

/// L3 of policy/laws.cpp.
TEST(subtree_activity, the_head_may_begin_one_subtree_after_that_many_yields) {
    subtree_activity activity;
    activity.enter();
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 3; ++i) {
            EXPECT_FALSE(activity.yielded(4));
            EXPECT_FALSE(activity.may_begin(4));
        }
        EXPECT_TRUE(activity.yielded(4)) << "the caller wakes the head";
        EXPECT_TRUE(activity.may_begin(4));
        EXPECT_FALSE(activity.may_begin(4)) << "the yields are used up";
    }
}

// ---- tree_part

constexpr tree_part whole{.from = 0, .width = 1};

TEST(tree_part, children_divide_the_interval_in_order) {
    const tree_part third = whole.child(1, 2).child(2, 4);
    EXPECT_EQ(third.from, 0.75F);
    EXPECT_EQ(third.width, 0.125F);
}

TEST(tree_part, a_child_beyond_the_declared_number_counts_as_the_last) {
    EXPECT_EQ(whole.child(7, 4).from, 0.75F);
    EXPECT_EQ(whole.child(7, 4).width, 0.25F);
}

TEST(tree_part, every_part_of_a_deep_tree_has_a_key_of_its_own) {
    std::set<std::uint64_t> keys;
    std::size_t parts = 0;
    std::vector<tree_part> level{whole};
    for (int depth = 0; depth < 10; ++depth) {
        std::vector<tree_part> below;
        for (const tree_part& part : level) {
            ++parts;
            keys.insert(part.key());
            for (int i = 0; i < 2; ++i) below.push_back(part.child(i, 2));
        }
        level.swap(below);
    }
    EXPECT_EQ(keys.size(), parts);
    EXPECT_FALSE(keys.contains(0));
    EXPECT_EQ(whole.child(1, 2).key(), whole.child(1, 2).key());
}

TEST(tree_part, sizes_add_up_exactly) {
    EXPECT_EQ(whole.size(), std::int64_t{1} << 40);
    std::int64_t sum = 0;
    for (int i = 0; i < 1024; ++i) sum += whole.child(i, 1024).size();
    EXPECT_EQ(sum, whole.size());
}

TEST(tree_part, belongs_to_the_socket_of_its_middle) {
    EXPECT_EQ(whole.child(0, 4).socket_of(2), 0);
    EXPECT_EQ(whole.child(1, 4).socket_of(2), 0);
    EXPECT_EQ(whole.child(2, 4).socket_of(2), 1);
    EXPECT_EQ((tree_part{.from = 0.375F, .width = 0.5F}.socket_of(2)), 1); // most of it is there
    EXPECT_EQ((tree_part{.from = 1.0F, .width = 0.25F}.socket_of(4)), 3);  // rounding past the end
}

TEST(tree_part, lies_within_the_part_of_one_socket_or_straddles_a_border) {
    EXPECT_FALSE(whole.is_in_one_of(2));
    EXPECT_TRUE(whole.is_in_one_of(1));
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(whole.child(i, 2).is_in_one_of(2));
    EXPECT_TRUE(whole.child(0, 3).is_in_one_of(2));
    EXPECT_FALSE(whole.child(1, 3).is_in_one_of(2));
    EXPECT_TRUE(whole.child(2, 3).is_in_one_of(2));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(whole.child(i, 3).is_in_one_of(3)) << "thirds are not exact";
    // In single precision the second half of the fourth fifth ends just above 4/5.
    for (int i = 0; i < 5; ++i)
        for (int half = 0; half < 2; ++half)
            EXPECT_TRUE(whole.child(i, 5).child(half, 2).is_in_one_of(5)) << i << ", " << half;
}

// ---- kept_subtrees

TEST(kept_subtrees, without_attach_keeps_nothing) {
    kept_subtrees kept;
    kept.keep(whole, 1);
    EXPECT_EQ(kept.home_of(whole), -1);
    EXPECT_EQ(kept.surplus(1, 0), 0);
}

TEST(kept_subtrees, a_subtree_is_at_the_socket_that_began_it_last) {
    kept_subtrees kept;
    kept.attach(3);
    const tree_part left = whole.child(0, 2), right = whole.child(1, 2);
    EXPECT_EQ(kept.home_of(left), -1);
    kept.keep(left, 0);
    kept.keep(right, 2);
    EXPECT_EQ(kept.home_of(left), 0);
    EXPECT_EQ(kept.home_of(right), 2);
    kept.keep(left, 1);
    EXPECT_EQ(kept.home_of(left), 1);
    EXPECT_EQ(kept.home_of(right), 2);
}

TEST(kept_subtrees, counts_each_subtree_once_and_where_it_is_now) {
    kept_subtrees kept;
    kept.attach(2);
    const tree_part half = whole.child(0, 2), quarter = whole.child(2, 4);
    kept.keep(half, 0);
    kept.keep(half, 0); // the next iteration
    kept.keep(quarter, 1);
    EXPECT_EQ(kept.surplus(0, 1), half.size() - quarter.size());
    EXPECT_EQ(kept.surplus(1, 0), quarter.size() - half.size());
    kept.keep(half, 1);
    EXPECT_EQ(kept.surplus(1, 0), half.size() + quarter.size());
}

TEST(kept_subtrees, does_not_count_what_the_full_table_forgets) {
    kept_subtrees kept;
    kept.attach(2);
    constexpr int parts = 1 << 17;
    for (int i = 0; i < parts; ++i) kept.keep(whole.child(i, parts), 0);
    std::int64_t known = 0;
    for (int i = 0; i < parts; ++i) known += kept.home_of(whole.child(i, parts)) == 0;
    EXPECT_GT(known, 0);
    EXPECT_LT(known, parts);
    EXPECT_EQ(kept.surplus(0, 1), known * whole.child(0, parts).size());
}

// ---- subtree_sizes: Eq. 3.6

class measured_subtrees : public testing::Test {
protected:
    static usage used(std::uint64_t misses, std::uint64_t instructions = 0) {
        usage u;
        u.misses = misses;
        u.instructions = instructions;
        return u;
    }
    measured_subtrees() { t.id_ = 17; }

    subtree_sizes sizes;
    task t{};
    subtree_sum none, up;
};

TEST_F(measured_subtrees, are_known_after_attach_only) {
    EXPECT_FALSE(sizes.is_on());
    EXPECT_EQ(sizes.bytes_of(17), 0);
    sizes.attach(0.001);
    EXPECT_TRUE(sizes.is_on());
    EXPECT_EQ(sizes.bytes_of(17), 0);
}

TEST_F(measured_subtrees, are_the_lines_that_the_task_missed_and_the_sizes_of_its_children) {
    sizes.attach(0.001);
    subtree_sum below;
    for (const std::uint64_t id : {21U, 22U}) {
        task leaf{};
        leaf.id_ = id;
        sizes.ended(leaf, used(500), none, &below);
        EXPECT_EQ(sizes.bytes_of(id), 32000);
    }
    sizes.ended(t, used(10), below, &up);
    EXPECT_EQ(sizes.bytes_of(17), 64640);
    EXPECT_EQ(up.bytes.load_relaxed(), 64640U);
}

TEST_F(measured_subtrees, have_no_parent_at_the_root) {
    sizes.attach(0.001);
    sizes.ended(t, used(1), none, nullptr);
    EXPECT_EQ(sizes.bytes_of(17), 64);
}

TEST_F(measured_subtrees, are_what_a_leaf_declares_where_no_miss_was_counted) {
    sizes.attach(0.001);
    t.hint_.bytes = 4000;
    sizes.ended(t, {}, none, &up);
    EXPECT_EQ(sizes.bytes_of(17), 4000);
    sizes.ended(t, used(2), none, nullptr);
    EXPECT_EQ(sizes.bytes_of(17), 128) << "what is counted goes before what is declared";
    sizes.ended(t, {}, up, nullptr);
    EXPECT_EQ(sizes.bytes_of(17), 4000) << "a parent's own declaration is not added to its children's";
}

/// 3.8.2.3, at a threshold of one miss in a thousand instructions.
TEST_F(measured_subtrees, compute_if_most_instructions_are_of_cpu_bound_tasks) {
    sizes.attach(0.001);
    sizes.ended(t, used(1, 1000), none, &up); // as many misses as the threshold: bound by memory
    EXPECT_EQ(up.cpu_bound.load_relaxed(), 0U);
    sizes.ended(t, used(0, 1000), none, &up);
    EXPECT_EQ(up.instructions.load_relaxed(), 2000U);
    EXPECT_EQ(up.cpu_bound.load_relaxed(), 1000U);
    EXPECT_FALSE(up.computes()) << "half is not most";
    subtree_sum root;
    sizes.ended(t, used(0, 2), up, &root);
    EXPECT_EQ(root.instructions.load_relaxed(), 2002U);
    EXPECT_TRUE(root.computes());
    subtree_sum twice;
    twice.add(root);
    twice.add(root);
    EXPECT_EQ(twice.bytes.load_relaxed(), 2 * root.bytes.load_relaxed());
    EXPECT_EQ(twice.instructions.load_relaxed(), 4004U);
    EXPECT_EQ(twice.cpu_bound.load_relaxed(), 2004U);
}

/// The threshold is of lines, as counters count them, and not of bytes.
TEST_F(measured_subtrees, misses_are_compared_in_lines) {
    sizes.attach(0.001);
    sizes.ended(t, used(1, 2000), none, &up);
    EXPECT_EQ(up.bytes.load_relaxed(), 64U);
    EXPECT_EQ(up.cpu_bound.load_relaxed(), 2000U);
}

// ---- bi_tier_partition

/// A parent with a group, and a child in it.
struct family {
    family() {
        child.parent_ = &parent;
        child.group_ = &children;
        child.level_ = 1;
        children.owner_ = &parent;
    }
    task parent{}, child{};
    group children;
};

TEST(bi_tier_partition, only_a_task_without_parent_at_level_0_is_a_root) {
    family f;
    EXPECT_TRUE(bi_tier_partition::is_root(f.parent));
    EXPECT_FALSE(bi_tier_partition::is_root(f.child));
    f.parent.level_ = 2; // an exposed frame
    EXPECT_FALSE(bi_tier_partition::is_root(f.parent));
}

TEST(bi_tier_partition, branching_is_as_the_parent_says_then_the_group_then_the_settings) {
    const bi_tier_partition partition{.degree = 3, .main = 5};
    family f;
    hints of_group;
    EXPECT_EQ(partition.branching(f.parent, f.child), 5);
    f.parent.level_ = 1;
    EXPECT_EQ(partition.branching(f.parent, f.child), 3);
    of_group.children = 7;
    f.children.hint_ = &of_group;
    EXPECT_EQ(partition.branching(f.parent, f.child), 7);
    f.parent.hint_.children = 9;
    EXPECT_EQ(partition.branching(f.parent, f.child), 9);
}

/// Eq. 3.4 for Heat of 3k x 2k, which declares its 96 MB: max(ceil(log2 4 + 1), ceil(log2 16 + 1)).
TEST(bi_tier_partition, the_boundary_of_the_books_heat_is_level_5) {
    bi_tier_partition partition{.cache = 6 * mega, .sockets = 4};
    family f;
    f.child.hint_.bytes = 3072UL * 2048 * 8 * 2;
    EXPECT_EQ(partition.boundary_of(f.child), 5);
    partition.first = 3; // main is at level 0, the recursion two levels lower than in the book
    EXPECT_EQ(partition.boundary_of(f.child), 7);
    partition.first = 1;
    partition.bytes = 512.0 * 512 * 16; // the setting goes before the hint
    EXPECT_EQ(partition.boundary_of(f.child), 3);
    partition.boundary = 2;
    EXPECT_EQ(partition.boundary_of(f.child), 2);
}

/// Eq. 3.4 for D = 4 as declared, for D = 3 as set, and for Fig. 3.4.
TEST(bi_tier_partition, the_boundary_goes_by_the_declared_degree) {
    family f;
    f.child.hint_.bytes = 96 * mega;
    f.child.hint_.children = 4;
    EXPECT_EQ((bi_tier_partition{.cache = 6 * mega, .sockets = 4}.boundary_of(f.child)), 3);
    f.child.hint_.children = 0;
    EXPECT_EQ((bi_tier_partition{.degree = 3, .cache = 6 * mega, .sockets = 4}.boundary_of(f.child)), 4);
    f.child.hint_.bytes = 0;
    EXPECT_EQ((bi_tier_partition{.cache = 6 * mega, .sockets = 2}.boundary_of(f.child)), 2);
}

/// Eq. 3.5.
TEST(bi_tier_partition, a_size_is_measured_or_declared_or_a_part_of_the_parents) {
    const bi_tier_partition partition{.cache = 6, .subtrees = 4};
    EXPECT_EQ(partition.size_of_child(3, 2, 1), 3);
    EXPECT_EQ(partition.size_of_child(0, 2, 1), 2);
    EXPECT_EQ(partition.size_of_child(0, 0, 1), 1);
    EXPECT_EQ(partition.size_of_child(0, 0, 0), 24) << "one cache for each subtree that is wanted";
    EXPECT_EQ((bi_tier_partition{.cache = 6}.size_of_child(0, 0, 0)), 6);
    EXPECT_EQ((bi_tier_partition{.subtrees = 4}.size_of_child(0, 0, 0)), 4) << "an unknown cache";
}

struct counted {
    int above = 0, subtrees = 0;
    bool operator==(const counted&) const = default;
};

/// Divides a task above the boundary into halves, by Eq. 3.5.
counted halved(const bi_tier_partition& partition, double size, float width) {
    if (partition.is_subtree(size, width)) return {0, 1};
    const double half = partition.size_of_child(0, 0, size / 2);
    const counted below = halved(partition, half, width / 2);
    return {1 + 2 * below.above, 2 * below.subtrees};
}

/// Eq. 3.5 and 3.4.2.3 for Heat of 512 columns and a cache of 6 MB.
TEST(bi_tier_partition, heat_is_cut_into_subtrees_of_4_megabytes) {
    const bi_tier_partition partition{.by = bi_tier_partition::mode::gto, .cache = 6 * mega, .sockets = 4};
    const auto of_rows = [&](int rows) { return halved(partition, rows * 512.0 * 16, 1); };
    EXPECT_EQ(of_rows(1024), (counted{1, 2}));
    EXPECT_EQ(of_rows(2048), (counted{3, 4}));
    EXPECT_EQ(of_rows(4096), (counted{7, 8}));
    EXPECT_EQ(of_rows(8192), (counted{15, 16}));
    bi_tier_partition one_each = partition;
    one_each.subtrees = 4;
    EXPECT_EQ(halved(one_each, 1024 * 512.0 * 16, 1), (counted{3, 4}));
}

TEST(bi_tier_partition, a_tree_that_fits_one_cache_is_too_small_unless_subtrees_are_wanted) {
    bi_tier_partition partition{.cache = 6};
    EXPECT_TRUE(partition.is_too_small(6));
    EXPECT_FALSE(partition.is_too_small(7));
    partition.subtrees = 2;
    EXPECT_FALSE(partition.is_too_small(6));
}

} // namespace
} // namespace weft
