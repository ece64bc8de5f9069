// The triple-level stealing of LAWS, without the policy that says where tasks belong.
#include "policy/fake_context.hpp"
#include "policy/parts/data_task.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/iterated_program.hpp"
#include "policy/parts/places.hpp"
#include "policy/parts/triple_level_stealing.hpp"

#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace weft {
namespace {

using kind = data_task::kind;
using range = std::pair<int, int>;

range of(workers w) { return {w.first, w.last}; }

/// Two sockets of three workers, whose heads are 0 and 3, and a program whose data are allocated to them.
class three_levels : public testing::Test {
protected:
    three_levels() {
        program.attach({.packs = false});
        program.claim();
        program.count(1);
        program.begin(0);
        attach({.lazy = true});
    }
    void attach(triple_level_stealing::settings s) {
        stealing.attach(on, context, {{0, 3}, {3, 6}}, program, s);
        stealing.begin_pass(false);
    }
    /// From the second iteration on, tasks may cross.
    void may_cross() {
        program.end_iteration(1);
        program.end_iteration(2);
        ASSERT_TRUE(program.may_cross());
    }

    task& make(kind is, int socket, interval data = {0, 1}) {
        task& t = tasks.emplace_back();
        auto& mine = t.data<data_task>();
        mine.is = is;
        mine.socket = static_cast<std::int16_t>(socket);
        mine.data = data;
        return t;
    }
    task& root_of_subtree(int socket, interval data = {0, 1}) {
        task& t = make(kind::packed, socket, data);
        placed = stealing.offer_to_heads(t);
        return t;
    }
    task& in_socket(kind is, int socket, ready_reason reason = ready_reason::spawned) {
        task& t = make(is, socket);
        placed = stealing.offer_to_socket(socket * 3, t, reason);
        return t;
    }
    /// One that its own head gets and begins.
    void begin_subtree(int socket) {
        task& t = root_of_subtree(socket);
        ASSERT_EQ(next(socket * 3), &t);
    }
    task* next(worker_id w) { return stealing.next(w, false).t; }
    task* last_look(worker_id w) { return stealing.next(w, true).t; }
    std::vector<range> woken() {
        std::vector<range> all;
        for (const workers w : context.woken) all.push_back(of(w));
        context.woken.clear();
        return all;
    }

    const machine on = load_synthetic("pack:2 [numa] l3:1 core:3 pu:1");
    test::fake_context context{6};
    iterated_program program;
    triple_level_stealing stealing;
    std::deque<test::task_with_bytes> tasks;
    placement placed;
};

// ---- the tasks of a socket

TEST_F(three_levels, a_task_of_a_socket_is_taken_there_the_youngest_first) {
    task& elsewhere = in_socket(kind::spread, 0);
    ASSERT_EQ(next(0), &elsewhere); // that socket has begun, and is kept from crossing by the program alone
    task &old = in_socket(kind::spread, 1), &young = in_socket(kind::spread, 1);
    EXPECT_EQ(of(placed.who), range(3, 6));
    for (const worker_id other : {0, 1, 2}) EXPECT_EQ(last_look(other), nullptr);
    const decision got = stealing.next(5, false);
    EXPECT_EQ(got.t, &young);
    EXPECT_EQ(got.from, placed.at);
    EXPECT_EQ(next(4), &old);
}

TEST_F(three_levels, tasks_that_may_cross_are_taken_by_a_socket_that_has_begun_the_oldest_first) {
    may_cross();
    task& old = in_socket(kind::spread, 1);
    in_socket(kind::spread, 1);
    EXPECT_EQ(last_look(0), nullptr);
    task& own = in_socket(kind::spread, 0);
    EXPECT_EQ(next(0), &own);
    EXPECT_EQ(last_look(1), &old);
}

TEST_F(three_levels, a_pass_that_begins_waits_for_sockets_that_had_something) {
    may_cross();
    for (const bool again : {false, true}) {
        task& own = in_socket(kind::spread, 1);
        ASSERT_EQ(next(3), &own);
        stealing.begin_pass(again);
        in_socket(kind::spread, 0), in_socket(kind::spread, 0);
        EXPECT_EQ(last_look(4), nullptr) << "the last pass had something for it";
        stealing.begin_pass(again);
        EXPECT_EQ(last_look(4) != nullptr, again);
        while (last_look(0) != nullptr) {}
    }
}

TEST_F(three_levels, a_pass_without_tasks_has_not_begun) {
    may_cross();
    task& own = in_socket(kind::spread, 1);
    ASSERT_EQ(next(3), &own);
    for (int i = 0; i < 3; ++i) stealing.begin_pass(true); // by an iteration, and by the first fork in it
    in_socket(kind::spread, 0), in_socket(kind::spread, 0);
    EXPECT_EQ(last_look(4), nullptr);
}

TEST_F(three_levels, while_data_are_allocated_frames_stay_on_their_socket) {
    EXPECT_EQ(of(stealing.victims(4)), range(3, 6));
    program.count(-1);
    EXPECT_EQ(of(stealing.victims(4)), range(0, 6));
}

TEST_F(three_levels, fair_turns_begin_alternately_with_what_yielded_and_with_roots) {
    task& yielded = in_socket(kind::spread, 0, ready_reason::yielded);
    task& root = tasks.emplace_back();
    stealing.put_anywhere(5, root, ready_reason::root);
    const auto usual = [&] {
        for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) {
            task& own = in_socket(kind::spread, 0);
            ASSERT_EQ(next(1), &own) << i;
        }
        in_socket(kind::spread, 0);
    };
    usual();
    EXPECT_EQ(next(1), &yielded);
    usual();
    EXPECT_EQ(next(1), &root);
}

TEST_F(three_levels, many_yields_ask_for_one_look_elsewhere_but_not_of_a_last_look) {
    task& spins = make(kind::spread, 0);
    const auto yield_often = [&] {
        for (unsigned i = 1; i < fair_turns::yields_to_look; ++i) {
            stealing.offer_to_socket(1, spins, ready_reason::yielded);
            ASSERT_EQ(next(1), &spins) << i;
        }
        stealing.offer_to_socket(1, spins, ready_reason::yielded);
    };
    yield_often();
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(1), &spins);
    yield_often();
    EXPECT_EQ(last_look(1), &spins);
}

// ---- the subtrees

TEST_F(three_levels, a_subtree_is_begun_by_a_head_and_belongs_to_its_socket) {
    task& t = root_of_subtree(0);
    EXPECT_EQ(of(placed.who), range(0, 1));
    for (const worker_id slave : {1, 2, 4, 5}) EXPECT_EQ(last_look(slave), nullptr);
    EXPECT_EQ(last_look(3), nullptr) << "its socket has not begun";
    task& own = root_of_subtree(1);
    EXPECT_EQ(next(3), &own);
    EXPECT_EQ(own.data<data_task>().socket, 1);
    EXPECT_EQ(last_look(3), &t) << "its own has ended";
    EXPECT_EQ(t.data<data_task>().socket, 1);
}

// Without L7, as in 4.7: an empty pool of its own is all that a head waits for.
TEST_F(three_levels, a_head_without_a_subtree_takes_the_last_one_of_another_socket) {
    begin_subtree(1);
    task& t = root_of_subtree(0);
    int looks = 1;
    while (next(3) == nullptr && looks < 10) ++looks;
    EXPECT_LT(looks, 10);
    EXPECT_EQ(t.data<data_task>().socket, 1);
}

// 4.9: as CAB's pools. `oldest` is the other way round.
TEST_F(three_levels, a_pool_gives_its_own_head_the_youngest_and_other_heads_the_oldest) {
    for (const auto order : {root_pool::order::youngest, root_pool::order::oldest}) {
        attach({.order = order});
        begin_subtree(1);
        task &first = root_of_subtree(0), &second = root_of_subtree(0), &third = root_of_subtree(0);
        const bool youngest = order == root_pool::order::youngest;
        EXPECT_EQ(next(0), youngest ? &third : &first);
        EXPECT_EQ(last_look(3), youngest ? &first : &third);
        EXPECT_EQ(next(0), &second);
    }
}

TEST_F(three_levels, a_head_begins_the_next_subtree_when_no_task_of_the_last_is_ready_or_runs) {
    task& second = root_of_subtree(0);
    task& first = root_of_subtree(0);
    EXPECT_EQ(next(0), &first);
    task& below = in_socket(kind::packed, 0);
    EXPECT_EQ(next(1), &below);
    EXPECT_EQ(next(0), nullptr) << "a task of the first one runs";
    EXPECT_TRUE(woken().empty());
    EXPECT_EQ(next(1), nullptr); // it has ended
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}}));
    EXPECT_EQ(next(0), &second);
}

TEST_F(three_levels, many_yields_in_a_subtree_let_the_head_begin_another) {
    begin_subtree(0);
    task& second = root_of_subtree(0);
    for (unsigned i = 1; i < fair_turns::yields_to_look; ++i)
        in_socket(kind::packed, 0, ready_reason::yielded);
    EXPECT_TRUE(woken().empty());
    in_socket(kind::packed, 0, ready_reason::yielded);
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}}));
    EXPECT_EQ(next(0), &second);
}

TEST_F(three_levels, in_the_order_nearest_that_subtree_goes_first_and_at_a_fair_turn_the_oldest) {
    for (const bool fair : {false, true}) {
        const unsigned before = fair ? fair_turns::turns_to_fair - 1 : fair_turns::turns_to_fair - 2;
        triple_level_stealing of_turns;
        of_turns.attach(on, context, {{0, 3}, {3, 6}}, program, {.order = root_pool::order::nearest});
        for (unsigned i = 0; i < before; ++i) ASSERT_EQ(of_turns.next(0, false).t, nullptr);
        task* all[4];
        for (int i = 3; i >= 0; --i) {
            all[i] = &make(kind::packed, 0, {i / 4.0, (i + 1) / 4.0});
            of_turns.offer_to_heads(*all[i]);
        }
        EXPECT_EQ(of_turns.next(0, false).t, fair ? all[3] : all[0]);
    }
}

TEST_F(three_levels, with_keep_the_last_subtree_of_a_socket_is_left_to_it_unless_it_does_not_come) {
    attach({.keeps = true});
    begin_subtree(1);
    task& kept = root_of_subtree(0);
    constexpr int patience = places::failed_looks_before_remote_steal;
    int looks = 1;
    while (next(3) == nullptr && looks < 2 * patience) ++looks;
    EXPECT_GT(looks, patience);
    EXPECT_LT(looks, 2 * patience);
    EXPECT_EQ(kept.data<data_task>().socket, 1);
    begin_subtree(1);
    task& last = root_of_subtree(0);
    EXPECT_EQ(last_look(3), &last);
}

TEST_F(three_levels, heads_that_found_nothing_are_woken_for_a_subtree_that_waits) {
    ASSERT_EQ(last_look(3), nullptr);
    root_of_subtree(0);
    EXPECT_EQ(woken(), (std::vector<range>{{3, 4}}));
    ASSERT_NE(next(0), nullptr);
    ASSERT_EQ(last_look(1), nullptr);
    root_of_subtree(1);
    EXPECT_TRUE(woken().empty()) << "the head of its socket takes it";
    root_of_subtree(1);
    EXPECT_EQ(woken(), (std::vector<range>{{0, 1}})) << "that head has one already";
    ASSERT_NE(next(3), nullptr);
    root_of_subtree(0);
    root_of_subtree(0);
    EXPECT_TRUE(woken().empty()) << "no other socket is idle";
}

// ---- tasks of no program that allocates

TEST_F(three_levels, other_tasks_are_stolen_at_random_and_victims_are_asked) {
    program.count(-1);
    task& t = tasks.emplace_back();
    EXPECT_EQ(stealing.put_anywhere(5, t, ready_reason::continuation).at, 5);
    context.draws = {4}; // of the five others the last
    EXPECT_EQ(next(1), &t);
    const decision got = stealing.next(1, false);
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{5, 5}));
    EXPECT_TRUE(got.ask);
}

TEST_F(three_levels, looks_alternate_between_the_other_socket_its_own_and_anywhere) {
    context.bounds.clear();
    std::vector<bool> asks;
    for (int i = 0; i < 8; ++i) {
        context.draws = {4};
        asks.push_back(stealing.next(1, false).ask);
    }
    // Worker 5 is not asked: while data are allocated, it may not be robbed of frames.
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{5, 1, 2, 1, 5, 1, 2, 1}));
    EXPECT_EQ(asks, (std::vector{false, false, true, false, false, false, true, false}));
}

// ---- sockets without active workers

TEST_F(three_levels, what_lies_on_a_socket_without_active_workers_is_taken_by_any) {
    context.active_workers = 3;
    task& t = in_socket(kind::spread, 1);
    EXPECT_EQ(of(placed.who), range(0, 3));
    EXPECT_EQ(last_look(2), &t);
    task& root = root_of_subtree(1);
    EXPECT_EQ(of(placed.who), range(0, 1));
    EXPECT_EQ(last_look(0), &root);
    EXPECT_EQ(root.data<data_task>().socket, 0);
}

} // namespace
} // namespace weft
