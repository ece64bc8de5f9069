// The two tiers in which CAB's tasks are kept and stolen, without the partition that divides them.
#include "policy/fake_context.hpp"
#include "policy/parts/bi_tier_stealing.hpp"
#include "policy/parts/bi_tier_task.hpp"
#include "policy/parts/fair_turns.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace weft {
namespace {

using bi_tier::kind, bi_tier::task_part;
using range = std::pair<int, int>;

range of(workers w) { return {w.first, w.last}; }

/// Two sockets of three workers, whose heads are 0 and 3.
class two_tiers : public testing::Test {
protected:
    two_tiers() { attach({}); }
    void attach(bi_tier::stealing::settings s) { tiers.attach({{0, 3}, {3, 6}}, context, s); }

    task& make(kind is, tree_part at = {0, 1}) {
        task& t = tasks.emplace_back();
        t.data<task_part>().is = is;
        t.data<task_part>().at = at;
        return t;
    }
    task& in_pool(kind is, worker_id w = 0, tree_part at = {0, 1}) {
        task& t = make(is, at);
        placed = tiers.put_in_pool(w, t, ready_reason::spawned);
        return t;
    }
    /// A task of the subtree that `leaf` is the root of.
    task& in_subtree(const task& leaf, worker_id w, ready_reason reason = ready_reason::spawned) {
        task& t = make(kind::intra);
        t.data<task_part>().socket = leaf.data<task_part>().socket;
        placed = tiers.put_in_socket(w, t, reason);
        return t;
    }
    task& begun_leaf(worker_id head) {
        task& leaf = in_pool(kind::leaf, head);
        EXPECT_EQ(next(head), &leaf);
        tiers.begin_subtree(head, leaf);
        return leaf;
    }
    task* next(worker_id w) { return tiers.next(w, false).t; }
    task* last_look(worker_id w) { return tiers.next(w, true).t; }
    std::vector<range> woken() {
        std::vector<range> all;
        for (const workers w : context.woken) all.push_back(of(w));
        context.woken.clear();
        return all;
    }
    /// How many workers or pools each of the next looks of `w` is drawn from.
    std::vector<std::uint32_t> choices(worker_id w, int looks) {
        context.bounds.clear();
        for (int i = 0; i < looks; ++i) EXPECT_EQ(next(w), nullptr);
        return context.bounds;
    }

    test::fake_context context{6};
    bi_tier::stealing tiers;
    std::deque<test::task_with_bytes> tasks;
    placement placed;
};

// ---- the pools: C1 and C2 of cab.cpp

TEST_F(two_tiers, a_new_task_above_the_subtrees_is_for_heads) {
    task& t = in_pool(kind::inter, 4);
    EXPECT_EQ(of(placed.who), range(3, 4));
    EXPECT_EQ(placed.near, 3);
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}})) << "the other head may take it, too";
    for (const worker_id slave : {1, 2, 4, 5}) EXPECT_EQ(last_look(slave), nullptr);
    const decision got = tiers.next(0, true);
    EXPECT_EQ(got.t, &t);
    EXPECT_EQ(got.from, placed.at);
}

// 3.3.2: a pool is a double-ended queue.
TEST_F(two_tiers, a_pool_gives_its_own_head_the_youngest_and_other_heads_the_oldest) {
    task &first = in_pool(kind::leaf), &second = in_pool(kind::inter), &third = in_pool(kind::leaf);
    task& fourth = in_pool(kind::inter);
    EXPECT_EQ(last_look(3), &first);
    EXPECT_EQ(next(0), &fourth);
    EXPECT_EQ(next(0), &third);
    EXPECT_EQ(last_look(3), &second);
}

TEST_F(two_tiers, a_pool_may_be_first_in_first_out_for_its_own_head_too) {
    attach({.oldest = true});
    task &first = in_pool(kind::inter), &second = in_pool(kind::inter), &third = in_pool(kind::inter);
    task& waited = make(kind::inter);
    waited.state_ = task_state::suspended;
    tiers.put_in_pool(0, waited, ready_reason::joined);
    EXPECT_EQ(next(0), &waited);
    EXPECT_EQ(next(0), &first);
    EXPECT_EQ(last_look(3), &second);
    EXPECT_EQ(next(0), &third);
}

TEST_F(two_tiers, what_has_waited_is_the_own_heads_next_and_what_yielded_lies_behind_the_pool) {
    task &first = in_pool(kind::inter), &second = in_pool(kind::inter);
    task &waited = make(kind::inter), &yielded = make(kind::inter);
    waited.state_ = yielded.state_ = task_state::suspended;
    const placement at = tiers.put_in_pool(0, waited, ready_reason::joined);
    EXPECT_EQ(of(at.who), range(0, 3)) << "it has begun: others resume it where no head does";
    EXPECT_EQ(tiers.put_in_pool(0, yielded, ready_reason::yielded).at, at.at);
    EXPECT_EQ(last_look(3), &first);
    for (task* const expected : {&waited, &second, &yielded}) EXPECT_EQ(next(0), expected);
    tiers.put_in_pool(0, yielded, ready_reason::yielded);
    EXPECT_EQ(last_look(2), &yielded);
    tiers.put_in_pool(0, yielded, ready_reason::yielded);
    EXPECT_EQ(last_look(3), &yielded);
}

TEST_F(two_tiers, a_fair_turn_of_a_head_begins_with_what_yielded) {
    task& yielded = make(kind::inter);
    yielded.state_ = task_state::suspended;
    tiers.put_in_pool(0, yielded, ready_reason::yielded);
    for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) {
        task& spawned = in_pool(kind::inter);
        ASSERT_EQ(next(0), &spawned) << i;
    }
    in_pool(kind::inter);
    EXPECT_EQ(next(0), &yielded);
}

TEST_F(two_tiers, a_last_look_of_others_takes_from_their_own_pool_what_has_begun) {
    in_pool(kind::inter);
    task& waited = make(kind::inter);
    waited.state_ = task_state::suspended;
    tiers.put_in_pool(0, waited, ready_reason::joined);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(last_look(4), nullptr) << "of the other socket";
    EXPECT_EQ(last_look(1), &waited);
    EXPECT_EQ(last_look(1), nullptr);
}

TEST_F(two_tiers, a_task_above_the_subtrees_returns_to_where_it_began) {
    task& t = in_pool(kind::inter);
    ASSERT_EQ(last_look(3), &t);
    tiers.begin_inter(3, t.data<task_part>());
    t.state_ = task_state::suspended;
    EXPECT_EQ(of(tiers.put_in_pool(1, t, ready_reason::joined).who), range(3, 6));
}

TEST_F(two_tiers, a_socket_works_on_one_subtree_at_a_time) {
    task& first = begun_leaf(0);
    EXPECT_EQ(first.data<task_part>().self, &first);
    task& second = in_pool(kind::leaf);
    EXPECT_EQ(last_look(0), nullptr);
    task& above = in_pool(kind::inter);
    EXPECT_EQ(next(0), &above) << "that is no subtree";
    woken();
    tiers.end_subtree(first.data<task_part>());
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}}));
    EXPECT_EQ(next(0), &second);
}

TEST_F(two_tiers, a_subtree_that_waits_shares_its_socket) {
    task& first = begun_leaf(0);
    task& second = in_pool(kind::leaf);
    woken();
    tiers.share(first.data<task_part>());
    tiers.share(first.data<task_part>());
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}})) << "once";
    EXPECT_EQ(next(0), &second);
}

TEST_F(two_tiers, each_16th_yield_of_a_worker_in_a_subtree_shares_its_socket) {
    for (int round = 0; round < 2; ++round) {
        task& leaf = begun_leaf(0);
        woken();
        for (unsigned i = 1; i < fair_turns::yields_to_look; ++i) in_subtree(leaf, 1, ready_reason::yielded);
        in_subtree(leaf, 2, ready_reason::yielded);
        EXPECT_TRUE(woken().empty());
        in_subtree(leaf, 1, ready_reason::yielded);
        EXPECT_EQ(woken(), (std::vector<range>{{0, 1}}));
        tiers.end_subtree(leaf.data<task_part>());
        for (const worker_id w : {1, 2})
            while (last_look(w) != nullptr) {}
    }
}

TEST_F(two_tiers, heads_whose_tasks_only_yield_look_elsewhere_once_but_not_for_the_last_time) {
    task& spins = make(kind::inter);
    const auto yield_often = [&] {
        for (unsigned i = 1; i < fair_turns::yields_to_look; ++i) {
            tiers.put_in_pool(0, spins, ready_reason::yielded);
            ASSERT_EQ(next(0), &spins) << i;
        }
        tiers.put_in_pool(0, spins, ready_reason::yielded);
    };
    yield_often();
    EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(next(0), &spins);
    yield_often();
    EXPECT_EQ(last_look(0), &spins);
}

// ---- where a subtree goes

TEST_F(two_tiers, in_the_first_iteration_subtrees_may_go_by_their_position) {
    attach({.even = true});
    in_pool(kind::leaf, 0, {0.75F, 0.25F});
    EXPECT_EQ(of(placed.who), range(3, 4));
    in_pool(kind::leaf, 4, {0.25F, 0.25F});
    EXPECT_EQ(of(placed.who), range(0, 1));
    in_pool(kind::inter, 0, {0.75F, 0.25F});
    EXPECT_EQ(of(placed.who), range(0, 1)) << "no subtree";
    task& later = make(kind::leaf, {0.75F, 0.25F});
    later.data<task_part>().iterations = 2;
    EXPECT_EQ(of(tiers.put_in_pool(0, later, ready_reason::spawned).who), range(0, 1));
}

TEST_F(two_tiers, a_subtree_may_go_to_where_it_was_and_is_left_there) {
    attach({.keep = true});
    task& first = in_pool(kind::leaf, 3, {0.5F, 0.5F});
    ASSERT_EQ(next(3), &first);
    tiers.begin_subtree(3, first);
    tiers.end_subtree(first.data<task_part>());
    task& again = in_pool(kind::leaf, 0, {0.5F, 0.5F});
    EXPECT_EQ(of(placed.who), range(3, 4));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(last_look(0), &again);
}

// ---- the subtrees

TEST_F(two_tiers, a_task_of_a_subtree_stays_on_its_socket) {
    const task& leaf = begun_leaf(0);
    task& t = in_subtree(leaf, 2);
    EXPECT_EQ(placed.at, 2);
    EXPECT_EQ(of(placed.who), range(0, 3));
    for (const worker_id other : {3, 4, 5}) EXPECT_EQ(last_look(other), nullptr);
    EXPECT_EQ(last_look(1), &t);
}

TEST_F(two_tiers, a_task_that_gets_ready_elsewhere_is_sent_home) {
    const task& leaf = begun_leaf(0);
    task& t = in_subtree(leaf, 4);
    EXPECT_EQ(of(placed.who), range(0, 3));
    EXPECT_EQ(placed.near, 0);
    EXPECT_EQ(last_look(4), nullptr);
    const decision got = tiers.next(2, false);
    EXPECT_EQ(got.t, &t);
    EXPECT_EQ(got.from, placed.at);
}

TEST_F(two_tiers, a_fair_turn_begins_with_what_all_workers_of_the_socket_share) {
    const task& leaf = begun_leaf(0);
    task& arrived = in_subtree(leaf, 4);
    for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) {
        task& own = in_subtree(leaf, 1);
        ASSERT_EQ(next(1), &own) << i;
    }
    in_subtree(leaf, 1);
    EXPECT_EQ(next(1), &arrived);
}

// ---- looks elsewhere

TEST_F(two_tiers, a_head_alternates_between_pools_and_its_socket_and_the_others_look_at_their_socket) {
    EXPECT_EQ(choices(0, 8), (std::vector<std::uint32_t>{1, 2, 2, 1, 1, 2, 2, 1}));
    EXPECT_EQ(choices(1, 3), (std::vector<std::uint32_t>{2, 2, 2}));
}

TEST_F(two_tiers, heads_may_look_at_the_pools_of_other_sockets_in_turn) {
    test::fake_context six(6);
    bi_tier::stealing three;
    three.attach({{0, 2}, {2, 4}, {4, 6}}, six, {.in_turn = true});
    std::vector<int> pools;
    for (int i = 0; i < 12; ++i)
        if (const place_id from = three.next(2, false).from; from >= 6) pools.push_back(from - 7);
    EXPECT_EQ(pools, (std::vector{2, 0, 2, 0, 2, 0}));
}

TEST_F(two_tiers, every_other_look_is_for_tasks_of_no_subtree_once_there_were_any) {
    task& t = make(kind::free);
    tiers.put_free(5, t, ready_reason::continuation);
    ASSERT_EQ(next(5), &t);
    EXPECT_EQ(choices(0, 8), (std::vector<std::uint32_t>{1, 5, 2, 5, 1, 5, 2, 5}));
    tiers.put_free(5, t, ready_reason::continuation);
    EXPECT_EQ(last_look(1), &t);
}

TEST_F(two_tiers, beside_a_plain_program_a_socket_without_subtree_looks_for_one_only_rarely) {
    EXPECT_EQ(of(tiers.victims(4)), range(3, 6));
    tiers.count_plain(1);
    EXPECT_EQ(woken(), (std::vector<range>{{0, 6}}));
    EXPECT_EQ(of(tiers.victims(4)), range(0, 6));
    EXPECT_EQ(choices(1, 9), (std::vector<std::uint32_t>{2, 5, 5, 5, 5, 5, 5, 5, 2}));
    tiers.count_plain(-1);
    EXPECT_EQ(of(tiers.victims(4)), range(3, 6));
}

TEST_F(two_tiers, a_victim_that_may_hide_something_is_asked_for_it) {
    attach({.lazy = true});
    EXPECT_FALSE(tiers.next(1, false).ask) << "no frame here is silent";
    begun_leaf(0);
    const decision got = tiers.next(1, false);
    EXPECT_EQ(got.t, nullptr);
    EXPECT_TRUE(got.ask);
    EXPECT_FALSE(tiers.next(4, false).ask);
}

TEST_F(two_tiers, a_head_alone_on_its_socket_looks_at_pools_each_time) {
    test::fake_context four(4);
    bi_tier::stealing alone;
    alone.attach({{0, 1}, {1, 4}}, four, {});
    for (int i = 0; i < 4; ++i) EXPECT_EQ(alone.next(0, false).t, nullptr);
    EXPECT_EQ(four.bounds, std::vector<std::uint32_t>(4, 1));
}

} // namespace
} // namespace weft
