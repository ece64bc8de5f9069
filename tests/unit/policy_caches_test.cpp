// What the policies that keep tasks under caches are made of, each part alone: turns, room in caches, large
// tasks.
#include "policy/fake_context.hpp"
#include "policy/parts/cache_room.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/large_tasks.hpp"
#include "policy/parts/memory_worker_groups.hpp"
#include "policy/parts/put_count.hpp"
#include "policy/parts/smallest_cache.hpp"

#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// Two caches of 1000 bytes, under each of them four workers with 100 of their own.
machine two_caches() { return load_synthetic("pack:1 [numa] l3:2(size=1000) core:4 l2:1(size=100) pu:1"); }

// ---- fair_turns

TEST(fair_turns, every_64th_turn_is_fair_odd_and_even_alternately) {
    fair_turns turns;
    for (const turn expected : {turn::odd_fair, turn::even_fair, turn::odd_fair}) {
        for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) EXPECT_EQ(turns.begin(), turn::usual);
        EXPECT_EQ(turns.begin(), expected);
    }
    EXPECT_EQ(turns.begun(), 3 * fair_turns::turns_to_fair);
}

TEST(fair_turns, many_yields_ask_for_one_look_elsewhere) {
    fair_turns turns;
    for (unsigned i = 0; i < fair_turns::yields_to_look; ++i) {
        EXPECT_FALSE(turns.sees_only_yields());
        turns.yielded();
    }
    EXPECT_TRUE(turns.sees_only_yields());
    turns.looked_elsewhere();
    EXPECT_FALSE(turns.sees_only_yields());
}

// ---- cache_room: sigma 50, mu 20, as in the experiments of Simhadri et al.

struct rooms {
    rooms() : context(8) {
        groups.attach(two_caches(), context, true);
        room.attach(groups, 50, 20);
    }
    bool take(worker_id w, std::size_t bytes, int above, int to) {
        return room.take(w, bytes, above, to, [](int) { return false; });
    }
    test::fake_context context;
    memory_groups groups;
    cache_room room;
};

TEST(cache_room, a_task_fits_a_cache_that_it_half_fills) {
    const rooms r;
    EXPECT_EQ(r.room.fitting(501, 0, 0), 0);
    EXPECT_EQ(r.room.fitting(500, 0, 0), 1);
    EXPECT_EQ(r.room.fitting(51, 0, 0), 1);
    EXPECT_EQ(r.room.fitting(50, 0, 0), 2);
    EXPECT_EQ(r.room.fitting(1000, 1, 0), 1); // not above where its parent is
}

TEST(cache_room, anchored_tasks_take_their_bytes_until_their_end) {
    rooms r;
    EXPECT_TRUE(r.take(0, 500, 0, 1));
    EXPECT_TRUE(r.take(1, 500, 0, 1));
    EXPECT_FALSE(r.take(2, 1, 0, 1));  // full
    EXPECT_TRUE(r.take(4, 500, 0, 1)); // the other cache is not
    r.room.end_strand(0);
    EXPECT_FALSE(r.take(2, 1, 0, 1)); // a strand of its own cache takes nothing more
    r.room.end_anchor(0, 500, 0, 1);
    EXPECT_TRUE(r.take(2, 500, 0, 1));
}

TEST(cache_room, strands_take_a_part_of_the_caches_below_their_anchor) {
    rooms r;
    for (worker_id w = 0; w < 4; ++w) EXPECT_TRUE(r.take(w, 8000, 0, 0)); // 200 each, of the memory
    EXPECT_FALSE(r.take(0, 300, 0, 1));
    EXPECT_EQ(r.room.end_strand(3).bytes, 8000U);
    EXPECT_EQ(r.room.end_strand(3).bytes, 0U);
    EXPECT_TRUE(r.take(3, 300, 0, 1));
    EXPECT_TRUE(r.room.take(3, 5000, 0, 1, [](int level) { return level == 1; })); // by leave
}

// ---- large_tasks

/// I1 and I2 of src/policy/parts/large_tasks.hpp.
TEST(large_tasks, a_memory_group_is_held_by_one_at_a_time) {
    test::fake_context context(8);
    memory_worker_groups groups;
    groups.attach(two_caches(), context);
    large_tasks large;
    large.attach(groups, context);
    test::task_with_bytes first, second, third;
    const auto any = [](const task&) { return true; };
    large.put(first, 1, 0, false, 0, 0);
    large.put(second, 1, 0, false, 0, 0);
    EXPECT_EQ(context.woken.back().last, 8); // any worker under the memory may take it
    EXPECT_TRUE(large.some_wait_at(1, 0));
    const auto got = large.take(0, 1, 0, false, any);
    EXPECT_EQ(got.t, &second); // the youngest of the own group
    EXPECT_EQ(large.take(1, 1, 0, false, any).t, nullptr);
    EXPECT_EQ(large.take(5, 1, 0, false, [](const task&) { return false; }).t, nullptr);
    const auto far = large.take(5, 1, 0, false, any);
    EXPECT_EQ(far.t, &first); // the oldest of another group
    EXPECT_NE(far.hold, got.hold);
    EXPECT_FALSE(large.some_wait());
    large.put(third, 1, 0, true, 0, 0);
    context.woken.clear();
    large.give_back(got.hold);
    ASSERT_EQ(context.woken.size(), 1U);
    EXPECT_EQ(context.woken[0].last, 4); // the workers of that group
    EXPECT_EQ(large.enter(1, 1), got.hold);
    EXPECT_EQ(large.take(2, 1, 0, false, any).t, nullptr);
    EXPECT_EQ(large.take(2, 1, 0, true, any).t, &third);
}

// ---- put_count

TEST(put_count, patience_comes_back_when_a_task_is_put) {
    put_count puts;
    puts.attach(2);
    far_patience far;
    EXPECT_TRUE(far.may_ask(puts));
    far.give_up(puts.total());
    EXPECT_FALSE(far.may_ask(puts));
    puts.add(1);
    EXPECT_TRUE(far.may_ask(puts));
    EXPECT_TRUE(far.may_ask(puts));
}

// ---- smallest_cache

TEST(smallest_cache, is_the_smallest_last_level_cache_above_the_workers_of_the_range) {
    machine_parts parts; // cores 0 and 1 under a cache of 4000 bytes, 2 under one of 1000 bytes, 3 under none
    for (int i = 0; i < 4; ++i) parts.cores.push_back({.physical_core = i, .domain = std::max(i - 1, 0)});
    parts.core_classes.emplace_back();
    parts.memory_nodes.push_back({.ranks = {0, 4}});
    parts.caches = {{.level = 1, .bytes = 10, .shared_by = {0, 1}},
                    {.level = 3, .bytes = 4000, .shared_by = {0, 2}},
                    {.level = 3, .bytes = 1000, .shared_by = {2, 3}}};
    const machine m(std::move(parts));
    test::fake_context context(4);
    EXPECT_EQ(smallest_last_level_cache(m, context, {0, 4}), 1000);
    EXPECT_EQ(smallest_last_level_cache(m, context, {2, 4}), 1000) << "a core without a cache says nothing";
    EXPECT_EQ(smallest_last_level_cache(m, context, {0, 2}), 4000)
        << "the cache of level 1 is not the last one";
    EXPECT_EQ(smallest_last_level_cache(m, context, {3, 4}), 0);
    EXPECT_EQ(smallest_last_level_cache(m, context, {1, 1}), 0);
    context.cores = {2, 1, 0, 3};
    EXPECT_EQ(smallest_last_level_cache(m, context, {0, 1}), 1000) << "workers change cores";
}

} // namespace
} // namespace weft
