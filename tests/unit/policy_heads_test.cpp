// The parts that say which worker is the head of a group, which CF root a head takes next, and how far the
// iterated program has come: each by itself.
#include "policy/fake_context.hpp"
#include "policy/parts/cache_friendly.hpp"
#include "policy/parts/data_task.hpp"
#include "policy/parts/headed_groups.hpp"
#include "policy/parts/iterated_program.hpp"
#include "policy/parts/root_pool.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace weft {
namespace {

// ---- headed_groups

std::vector<std::pair<int, int>> ranges(const std::vector<workers>& woken) {
    std::vector<std::pair<int, int>> all;
    for (const workers range : woken) all.emplace_back(range.first, range.last);
    return all;
}
using range_list = std::vector<std::pair<int, int>>;

class groups_with_heads : public testing::Test {
protected:
    groups_with_heads() { groups.attach({{0, 3}, {3, 5}, {5, 6}}, context); }
    test::fake_context context{6};
    headed_groups groups;
};

TEST_F(groups_with_heads, the_head_is_the_lowest_worker_of_its_group) {
    EXPECT_EQ(groups.count(), 3);
    std::vector<int> group, heads;
    for (worker_id w = 0; w < 6; ++w) {
        group.push_back(groups.of(w));
        if (groups.is_head(w)) heads.push_back(w);
    }
    EXPECT_EQ(group, (std::vector{0, 0, 0, 1, 1, 2}));
    EXPECT_EQ(heads, (std::vector{0, 3, 5}));
    EXPECT_EQ(ranges(groups.all()), (range_list{{0, 3}, {3, 5}, {5, 6}}));
}

TEST_F(groups_with_heads, another_group_is_drawn_from_all_others) {
    std::vector<int> drawn;
    for (const worker_id w : {0, 4, 5})
        for (const std::uint32_t draw : {0U, 1U}) {
            context.draws = {draw};
            drawn.push_back(groups.random_other(w));
        }
    EXPECT_EQ(drawn, (std::vector{1, 2, 0, 2, 0, 1}));
    EXPECT_EQ(context.bounds, std::vector<std::uint32_t>(6, 2));
}

TEST_F(groups_with_heads, a_neighbour_is_drawn_from_the_others_of_the_group) {
    std::vector<int> drawn;
    for (const worker_id w : {0, 1, 2})
        for (const std::uint32_t draw : {0U, 1U}) {
            context.draws = {draw};
            drawn.push_back(groups.random_neighbour(w));
        }
    EXPECT_EQ(drawn, (std::vector{1, 2, 0, 2, 0, 1}));
    EXPECT_EQ(groups.random_neighbour(3), 4);
    EXPECT_EQ(groups.random_neighbour(4), 3);
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{2, 2, 2, 2, 2, 2, 1, 1}));
}

TEST_F(groups_with_heads, wakes_one_head_or_each_of_the_others) {
    groups.wake_head(1);
    EXPECT_EQ(ranges(context.woken), (range_list{{3, 4}}));
    context.woken.clear();
    groups.wake_other_heads(1);
    EXPECT_EQ(ranges(context.woken), (range_list{{0, 1}, {5, 6}}));
}

// ---- root_pool

/// L8 of policy/laws.cpp.
class roots_that_wait : public testing::Test {
protected:
    using kind = data_task::kind;
    roots_that_wait() { pool.attach(root_pool::order::nearest); }
    task& put(double from, double to, kind is = kind::packed) {
        task& t = tasks.emplace_back();
        t.data<data_task>().data = {from, to};
        t.data<data_task>().is = is;
        pool.put(t);
        return t;
    }
    root_pool pool;
    std::deque<test::task_with_bytes> tasks;
};

TEST_F(roots_that_wait, each_is_taken_once) {
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(pool.take_next(), nullptr);
    EXPECT_EQ(pool.take_for_other(), nullptr);
    EXPECT_EQ(pool.take_oldest(), nullptr);
    EXPECT_EQ(pool.take_above(), nullptr);
    put(0, 0.5);
    put(0.5, 1);
    EXPECT_EQ(pool.size(), 2U);
    task* const one = pool.take_next();
    task* const other = pool.take_for_other();
    EXPECT_NE(one, nullptr);
    EXPECT_NE(other, nullptr);
    EXPECT_NE(one, other);
    EXPECT_TRUE(pool.empty());
    EXPECT_EQ(pool.take_next(), nullptr);
}

TEST_F(roots_that_wait, the_oldest_and_the_oldest_above_go_in_the_order_of_arrival) {
    task& packed = put(0, 0.5);
    task& above = put(0, 1, kind::above);
    task& later = put(0.5, 1, kind::above);
    EXPECT_EQ(pool.take_above(), &above);
    EXPECT_EQ(pool.take_oldest(), &packed);
    EXPECT_EQ(pool.take_above(), &later);
    put(0, 0.5);
    EXPECT_EQ(pool.take_above(), nullptr);
    EXPECT_EQ(pool.size(), 1U);
}

TEST_F(roots_that_wait, in_the_other_orders_each_end_is_taken_by_one_side) {
    for (const auto order : {root_pool::order::youngest, root_pool::order::oldest}) {
        root_pool ends;
        ends.attach(order);
        EXPECT_EQ(ends.take_next(), nullptr);
        EXPECT_EQ(ends.take_for_other(), nullptr);
        task &oldest = put(0, 0.5), &youngest = put(0.5, 1);
        for (task* const t : {pool.take_oldest(), pool.take_oldest()}) ends.put(*t);
        const bool own_young = order == root_pool::order::youngest;
        EXPECT_EQ(ends.take_next(), own_young ? &youngest : &oldest);
        EXPECT_EQ(ends.take_for_other(), own_young ? &oldest : &youngest);
    }
}

TEST_F(roots_that_wait, a_sweep_goes_on_beside_the_last_root_and_other_sockets_take_from_its_end) {
    std::vector<task*> eighths;
    for (int i = 0; i < 8; ++i) eighths.push_back(&put(i / 8.0, (i + 1) / 8.0));
    pool.began({0.875, 1});
    for (int i = 7; i > 4; --i) EXPECT_EQ(pool.take_next(), eighths[static_cast<std::size_t>(i)]);
    EXPECT_EQ(pool.take_for_other(), eighths[0]);
    pool.began({0, 0.125}); // the next sweep begins at the other end
    EXPECT_EQ(pool.take_next(), eighths[1]);
    EXPECT_EQ(pool.take_for_other(), eighths[4]);
}

TEST_F(roots_that_wait, the_largest_goes_first_while_it_is_more_than_a_quarter) {
    task& far = put(0, 0.5);
    task& near = put(0.75, 1);
    pool.began({0.75, 1});
    EXPECT_EQ(pool.take_next(), &far);
    EXPECT_EQ(pool.take_next(), &near);
    task& small = put(0.75, 1);
    static_cast<void>(put(0, 0.5));
    EXPECT_EQ(pool.take_for_other(), &small) << "the last turn is the smallest one's";
}

/// Four that are equal are a quarter each, and three are more. By size, those above the CF roots go first.
TEST_F(roots_that_wait, exactly_a_quarter_is_not_more) {
    task& above = put(0, 0.25, kind::above);
    for (const double from : {0.25, 0.5}) put(from, from + 0.25);
    task& near = put(0.75, 1);
    pool.began({0.75, 1});
    EXPECT_EQ(pool.take_next(), &near);
    EXPECT_EQ(pool.take_next(), &above);
}

TEST_F(roots_that_wait, of_equally_near_ones_those_above_the_cf_roots_come_first) {
    static_cast<void>(put(0.25, 0.375));
    task& above = put(0.625, 0.75, kind::above);
    static_cast<void>(put(0, 0.125, kind::above));
    task& last = put(0.875, 1);
    pool.began({0.5, 0.5});
    EXPECT_EQ(pool.take_for_other(), &last); // as far as the first, and that one is above
    static_cast<void>(put(0.875, 1));        // again four that are equal
    EXPECT_EQ(pool.take_next(), &above);
}

TEST_F(roots_that_wait, more_than_can_be_compared_go_in_the_order_of_arrival) {
    task& oldest = put(0, 0.001);
    for (int i = 0; i < 1025; ++i) put(0.9, 0.901);
    task& youngest = put(0.5, 0.501);
    pool.began({0.9, 0.901});
    EXPECT_EQ(pool.take_for_other(), &youngest);
    EXPECT_EQ(pool.take_next(), &oldest);
}

// ---- iterated_program

using phase = iterated_program::phase;
using tier = task_profile::tier;

/// The profile of a program whose two halves fit the cache of 640 bytes exactly.
class an_iterated_program : public testing::Test {
protected:
    enum task_number : int { top, left, right, left_half, right_half };
    static constexpr std::uint64_t ids[] = {11, 12, 13, 14, 15};

    iterated_program program;
    time_ns now = 0;

    static iterated_program::settings packing() {
        return {.tunes = false, .cache_bytes = 640, .misses_per_instruction = 0.001, .profiled = 16};
    }
    bool end_iteration_after(time_ns took) {
        now += took;
        const bool packs = program.end_iteration(now);
        now += 1'000'000; // no part of an iteration
        program.begin_iteration(now);
        return packs;
    }
    void begin(const iterated_program::settings& with) {
        program.attach(with);
        begin_again();
    }
    void begin_again() {
        ASSERT_TRUE(program.claim());
        program.begin(now);
        ASSERT_TRUE(end_iteration_after(0)); // what comes before the first iteration
    }
    /// The first iteration, with so many instructions in each leaf.
    void run_first(std::uint64_t instructions = 10) {
        task_profile& profile = program.profile();
        profile.insert(ids[top], -1, true, 0);
        for (const task_number half : {left, right}) profile.insert(ids[half], top, false, 0);
        profile.insert(ids[left_half], left, false, 0);
        profile.insert(ids[right_half], right, false, 0);
        for (const task_number leaf : {left_half, right_half}) profile.add(leaf, 10, instructions);
    }
    bool is_root(std::uint64_t id, bool straddles = false) {
        task t{};
        t.id_ = id;
        return program.is_root_of_subtree(t, straddles);
    }
    tier tier_of(task_number n) { return program.profile().tier_of(n); }
};

TEST_F(an_iterated_program, is_owned_by_one_root_at_a_time) {
    EXPECT_FALSE(program.is_owned());
    EXPECT_TRUE(program.claim());
    EXPECT_TRUE(program.is_owned());
    EXPECT_FALSE(program.claim());
    EXPECT_TRUE(program.is_owned());
    program.release();
    EXPECT_FALSE(program.is_owned());
    EXPECT_TRUE(program.claim());
}

TEST_F(an_iterated_program, allocates_while_some_root_does) {
    EXPECT_FALSE(program.allocates());
    EXPECT_EQ(program.count(1), 1);
    EXPECT_EQ(program.count(1), 2);
    EXPECT_EQ(program.count(-1), 1);
    EXPECT_TRUE(program.allocates());
    EXPECT_EQ(program.count(-1), 0);
    EXPECT_FALSE(program.allocates());
}

TEST_F(an_iterated_program, is_profiled_once_and_then_packed) {
    begin(packing());
    EXPECT_EQ(program.phase_of(false), phase::profile);
    EXPECT_FALSE(program.may_cross());
    run_first();
    EXPECT_TRUE(end_iteration_after(100));
    EXPECT_EQ(program.phase_of(false), phase::packed);
    EXPECT_EQ(program.iterations(), 2);
    EXPECT_EQ(tier_of(top), tier::above);
    EXPECT_EQ(tier_of(left), tier::root);
    EXPECT_EQ(tier_of(left_half), tier::inside);
    EXPECT_FALSE(is_root(ids[top]));
    EXPECT_TRUE(is_root(ids[right]));
    EXPECT_EQ(program.phase_of(true), phase::spread) << "a root that only starts is not packed";
}

/// 4.10.6.
TEST_F(an_iterated_program, is_plain_from_its_second_iteration_on_if_it_is_cpu_bound) {
    begin(packing());
    run_first(10'001); // 10 misses are fewer than one in a thousand
    EXPECT_FALSE(end_iteration_after(100));
    EXPECT_EQ(program.phase_of(false), phase::plain);
    EXPECT_TRUE(end_iteration_after(100));
    EXPECT_EQ(program.phase_of(false), phase::plain);
}

TEST_F(an_iterated_program, a_new_task_is_a_root_of_a_subtree_unless_it_straddles) {
    begin(packing());
    run_first();
    end_iteration_after(100);
    EXPECT_TRUE(is_root(99));
    EXPECT_FALSE(is_root(99, true));
    EXPECT_TRUE(is_root(ids[left], true)) << "the profile knows this one";
}

TEST_F(an_iterated_program, is_packed_no_more_if_most_of_its_tasks_are_new) {
    begin(packing());
    run_first();
    end_iteration_after(100);
    for (int iteration = 0; iteration < 3; ++iteration) { // half are not most, and are not added up
        static_cast<void>(is_root(99));
        static_cast<void>(is_root(ids[left]));
        end_iteration_after(100);
        EXPECT_EQ(program.phase_of(false), phase::packed);
    }
    EXPECT_FALSE(program.may_cross());
    for (const std::uint64_t id : {98UL, 99UL, ids[left]}) static_cast<void>(is_root(id));
    EXPECT_TRUE(end_iteration_after(100));
    EXPECT_EQ(program.phase_of(false), phase::spread);
    EXPECT_TRUE(program.may_cross());
}

TEST_F(an_iterated_program, leaves_neither_profile_nor_counts_to_the_next_one) {
    begin(packing());
    run_first();
    end_iteration_after(100);
    for (const std::uint64_t id : {97UL, 98UL, 99UL}) static_cast<void>(is_root(id));
    program.release(); // in the middle of a packed iteration
    begin_again();
    EXPECT_EQ(program.iterations(), 1);
    EXPECT_EQ(program.phase_of(false), phase::profile);
    EXPECT_EQ(program.profile().size(), 0U);
    run_first();
    end_iteration_after(100);
    static_cast<void>(is_root(ids[left]));
    end_iteration_after(100);
    EXPECT_EQ(program.phase_of(false), phase::packed);
}

/// Algorithm 6. The first packed iteration finds the caches as the profile left them.
TEST_F(an_iterated_program, is_tuned_by_the_times_of_iterations_from_the_second_packed_one_on) {
    for (const time_ns took : {89, 91}) {
        iterated_program::settings with = packing();
        with.tunes = true;
        with.margin = 0.1;
        begin(with);
        run_first();
        end_iteration_after(300);
        end_iteration_after(200);
        EXPECT_EQ(tier_of(left), tier::root);
        end_iteration_after(100);
        EXPECT_EQ(tier_of(left), tier::above);
        EXPECT_EQ(tier_of(left_half), tier::root);
        end_iteration_after(took);
        EXPECT_EQ(tier_of(left), took == 89 ? tier::above : tier::root) << "shorter by the margin, or not";
        program.release();
    }
}

TEST_F(an_iterated_program, keeps_its_packing_if_it_is_not_tuned) {
    begin(packing());
    run_first();
    for (const time_ns took : {300, 200, 100, 50}) end_iteration_after(took);
    EXPECT_EQ(tier_of(left), tier::root);
}

TEST_F(an_iterated_program, that_is_not_packed_is_spread_and_crosses_sockets_from_its_second_iteration_on) {
    begin({.packs = false});
    EXPECT_EQ(program.phase_of(false), phase::spread);
    EXPECT_FALSE(program.may_cross());
    end_iteration_after(100);
    EXPECT_EQ(program.phase_of(false), phase::spread);
    EXPECT_TRUE(program.may_cross());
    program.release();
    begin_again();
    EXPECT_FALSE(program.may_cross());
    EXPECT_EQ(program.phase_of(false), phase::spread);
}

/// Eq. 3.5: 96 MB in caches of 6 MB.
TEST_F(an_iterated_program, without_iterations_is_packed_by_its_size_if_that_is_given) {
    EXPECT_FALSE(program.packs_by_size());
    EXPECT_EQ(program.phase_of(true), phase::spread);
    EXPECT_FALSE(program.may_cross()) << "the data are written first (4.7)";
    program.attach({.packs = false, .cache_bytes = 6 << 20, .input_bytes = 96 << 20});
    EXPECT_TRUE(program.packs_by_size());
    EXPECT_EQ(program.phase_of(true), phase::sized);
    EXPECT_FALSE(program.may_cross());
    EXPECT_TRUE(program.fits(1.0 / 16));
    EXPECT_FALSE(program.fits(1.0 / 15));
    EXPECT_TRUE(program.fits(1.0 / 16 + 1e-12)) << "rounding";
}

} // namespace
} // namespace weft
