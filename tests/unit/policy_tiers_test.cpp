// The policies for machines of several sockets, without an engine.
#include "policy/on_sockets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft {
namespace {

using driven = test::on_sockets;

// ---- slaw

/// Worker 1 steals `count` tasks that worker 0 had.
void steal_from_worker_0(driven& p, int count) {
    for (int i = 0; i < count; ++i) p.add(0, ready_reason::continuation);
    for (int i = 0; i < count; ++i) ASSERT_NE(p->next(1, false).t, nullptr);
}

TEST(policy_slaw, the_stack_comes_before_the_fresh_tasks) {
    driven p("slaw:stack=0,fresh=0", 1, 2);
    task& root = p.make();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(p->spawn(0, root, p.child_of(root)), spawn_order::parent_first);
}

/// I1 of src/policy/slaw.cpp.
TEST(policy_slaw, child_first_nests_as_deep_as_the_stack_allows) {
    driven p("slaw:stack=3", 1, 2);
    task* t = &p.make();
    for (const spawn_order expected :
         {spawn_order::child_first, spawn_order::child_first, spawn_order::child_first,
          spawn_order::parent_first, spawn_order::child_first}) { // the last one on a new stack
        task& child = p.child_of(*t);
        EXPECT_EQ(p->spawn(0, *t, child), expected);
        t = &child;
    }
}

/// I2 of src/policy/slaw.cpp.
TEST(policy_slaw, the_fresh_tasks_come_before_the_steals) {
    driven p("slaw:fresh=0,interval=1", 1, 2);
    task& root = p.make();
    steal_from_worker_0(p, 2);
    task& fresh = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, fresh), spawn_order::parent_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), spawn_order::child_first); // one is fresh
    p->started(1, fresh);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), spawn_order::parent_first);
}

TEST(policy_slaw, as_many_steals_as_spawns_are_child_first_and_one_more_is_parent_first) {
    driven p("slaw:interval=2", 1, 2);
    task& root = p.make();
    const auto spawn = [&] { return p->spawn(0, root, p.child_of(root)); };
    EXPECT_EQ(spawn(), spawn_order::child_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(spawn(), spawn_order::child_first);
    steal_from_worker_0(p, 3);
    EXPECT_EQ(spawn(), spawn_order::child_first);
    EXPECT_EQ(spawn(), spawn_order::parent_first); // the next interval begins
    EXPECT_EQ(spawn(), spawn_order::parent_first);
    EXPECT_EQ(spawn(), spawn_order::child_first); // nothing was stolen in that one
}

TEST(policy_slaw, a_cancelled_task_is_fresh_no_more) {
    driven p("slaw:stack=1,fresh=0,interval=1", 1, 2);
    task& root = p.make();
    task& child = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, child), spawn_order::child_first);
    task& dropped = p.child_of(child);
    EXPECT_EQ(p->spawn(0, child, dropped), spawn_order::parent_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), spawn_order::child_first);
    usage cancelled;
    cancelled.cancelled = true;
    p->finished(0, dropped, cancelled);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), spawn_order::parent_first);
}

TEST(policy_slaw, steals_at_home_until_it_fails) {
    driven p("slaw:tries=2", 2, 4);
    for (int i = 0; i < 2; ++i) EXPECT_LT(p->next(1, false).from, 4);
    EXPECT_EQ(p.context.bounds, (std::vector<std::uint32_t>{3, 3}));
    static_cast<void>(p->next(1, false));
    EXPECT_EQ(p.context.bounds.back(), 7U);
    static_cast<void>(p->next(1, false));
    EXPECT_EQ(p.context.bounds.back(), 3U);
}

// ---- pws

TEST(policy_pws, near_victims_by_the_inverse_of_their_distance) {
    driven p("pws:across=10", 4, 4);
    static_cast<void>(p->next(5, false));
    const std::uint32_t sum = p.context.bounds.at(0);
    constexpr std::uint32_t draws = 4200;
    std::map<worker_id, int> hits;
    for (std::uint32_t i = 0; i < draws; ++i) {
        p.context.draws = {static_cast<std::uint32_t>(std::uint64_t{i} * sum / draws)};
        const decision got = p->next(5, false);
        EXPECT_TRUE(got.ask);
        ++hits[got.from];
    }
    EXPECT_EQ(hits.size(), 15U); // all but the thief
    for (const auto& [victim, count] : hits)
        EXPECT_NEAR(count, victim / 4 == 1 ? 1000 : 100, 2) << victim; // 1/4.2 and 0.1/4.2
}

TEST(policy_pws, workers_on_one_core_are_no_division_by_zero) {
    driven p("pws", 1, 2, 4);
    p.context.cores = {0, 1, 0, 1};
    std::map<worker_id, int> hits;
    for (int i = 0; i < 1000; ++i) ++hits[p->next(0, false).from];
    EXPECT_EQ(hits.size(), 3U);
    EXPECT_GT(hits[2], hits[1]); // it is nearer
}

// ---- mts

/// I3 of src/policy/mts.cpp.
TEST(policy_mts, a_thief_takes_the_oldest_for_its_whole_socket) {
    driven p("mts", 2, 4);
    std::vector<task*> six; // a b c d e f, from the oldest
    for (int i = 0; i < 6; ++i) six.push_back(&p.add(4 + i % 4, ready_reason::spawned));
    const decision got = p->next(0, false);
    EXPECT_EQ(got.t, six[3]);
    EXPECT_GE(got.from, 8); // shared, and so a steal
    EXPECT_EQ(p.context.woken.size(), 1U);
    EXPECT_EQ(p->next(3, false).t, six[2]);
    EXPECT_EQ(p->next(1, false).t, six[1]);
    EXPECT_EQ(p->next(2, false).t, six[0]);
    EXPECT_EQ(p->next(7, false).t, six[5]);
    EXPECT_EQ(p->next(6, false).t, six[4]);
}

/// I1 of src/policy/mts.cpp.
TEST(policy_mts, only_the_first_that_finds_nothing_steals) {
    driven p("mts", 2, 2);
    EXPECT_EQ(p->next(1, false).t, nullptr); // the thief from now on
    task& far = p.add(2, ready_reason::spawned);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(p->next(0, false).t, nullptr);
    EXPECT_EQ(p->next(1, false).t, &far);
    task& next = p.add(2, ready_reason::spawned);
    EXPECT_EQ(p->next(0, false).t, &next); // the role was given back
}

TEST(policy_mts, a_thief_with_something_else_to_do_gives_the_part_back) {
    driven p("mts", 2, 2);
    task& far = p.make();
    for (const int way : {0, 1, 2}) {
        EXPECT_EQ(p->next(1, false).t, nullptr);
        p->ready(2, far, ready_reason::spawned);
        EXPECT_EQ(p->next(0, false).t, nullptr);
        if (way == 0) p->started(1, p.make()); // handed to it by the gate
        if (way == 1) p.context.active_workers = 1;
        if (way == 2) {
            task& near = p.make();
            p->ready(1, near, ready_reason::spawned);
            EXPECT_EQ(p->next(1, false).t, &near);
        }
        EXPECT_EQ(p->next(0, false).t, &far) << way;
        p.context.active_workers = -1;
        EXPECT_EQ(p->next(0, true).t, nullptr);
        EXPECT_EQ(p->next(1, true).t, nullptr);
    }
}

/// I2 of src/policy/mts.cpp.
TEST(policy_mts, a_last_look_goes_everywhere_whichever_worker_is_thief) {
    driven p("mts", 4, 2);
    EXPECT_EQ(p->next(1, false).t, nullptr);
    for (const ready_reason reason : {ready_reason::spawned, ready_reason::yielded}) {
        task& far = p.add(7, reason);
        EXPECT_EQ(p->next(0, true).t, &far);
    }
    EXPECT_EQ(p->next(0, true).t, nullptr);
}

TEST(policy_mts, looks_at_the_sockets_in_turn_from_the_nearest_on) {
    driven p("mts:probe=nearest", 4, 1);
    std::vector<place_id> seen;
    for (int i = 0; i < 4; ++i) seen.push_back(p->next(0, false).from);
    EXPECT_EQ(seen[0], seen[3]);
    std::sort(seen.begin(), seen.end() - 1);
    EXPECT_EQ(std::unique(seen.begin(), seen.end() - 1) - seen.begin(), 3);
    EXPECT_TRUE(p.context.bounds.empty());
}

// ---- hws: two sockets with a leader (0, 4) and three slaves each

/// The last looks of all slaves of a socket find no task.
void starve(driven& p, worker_id leader, int slaves = 3) {
    for (int i = 1; i <= slaves; ++i) ASSERT_EQ(p->next(leader + i, true).t, nullptr);
}

TEST(policy_hws, a_program_that_halves_has_seven_global_tasks_and_eight_slave_tasks) {
    driven p("hws:l=3", 1, 4);
    starve(p, 0);
    p.add(0, ready_reason::root);
    int global = 0, blocks = 0;
    while (task* const t = p->next(0, false).t) {
        ++global;
        for (int i = 0; i < 2; ++i) {
            task& child = p.child_of(*t);
            ASSERT_EQ(p->spawn(0, *t, child), spawn_order::parent_first);
            p->ready(0, child, ready_reason::spawned);
        }
        for (worker_id slave = 1; slave < 4; ++slave) // it gets a block, ends it, and starves again
            while (task* const got = p->next(slave, true).t) {
                ++blocks;
                EXPECT_EQ(got->level(), 3);
                EXPECT_EQ(p->spawn(slave, *got, p.child_of(*got)), spawn_order::lazy);
            }
    }
    EXPECT_EQ(global, 7);
    EXPECT_EQ(blocks, 8);
}

// I4 of policy/hws.cpp.
TEST(policy_hws, a_leader_begins_something_only_for_slaves_that_starve) {
    driven p("hws:l=2,attempts=2", 1, 4);
    task& root = p.make();
    task &one = p.child_of(root), &two = p.child_of(root);
    for (task* const t : {&one, &two}) {
        EXPECT_EQ(p->spawn(0, root, *t), spawn_order::parent_first);
        const placement at = p->ready(0, *t, ready_reason::spawned);
        EXPECT_EQ(at.who.size(), 1); // the leader
        EXPECT_EQ(at.who.first, 0);
    }
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_TRUE(p.context.woken.empty());
    EXPECT_EQ(p->next(1, false).t, nullptr); // the second attempt finds no task
    ASSERT_EQ(p.context.woken.size(), 1U);
    EXPECT_TRUE(p.context.woken[0].contains(0));
    EXPECT_EQ(p->next(0, false).t, &two); // its youngest
    task& block = p.child_of(two);
    EXPECT_EQ(p->spawn(0, two, block), spawn_order::parent_first);
    const placement at = p->ready(0, block, ready_reason::spawned);
    EXPECT_EQ(at.who.first, 1); // the slaves, without the leader
    EXPECT_EQ(at.who.last, 4);
    EXPECT_EQ(p->next(0, true).t, nullptr); // one starves, and one block waits for it
    EXPECT_EQ(p->next(1, false).t, &block);
    EXPECT_EQ(p->next(0, true).t, nullptr); // no slave starves
    p->ready(2, one, ready_reason::joined); // what has begun is not kept back
    EXPECT_EQ(p->next(0, false).t, &one);
}

// I4 of policy/hws.cpp.
TEST(policy_hws, a_slave_that_starves_wakes_its_leader_again_when_another_one_has_taken_the_block) {
    driven p("hws:l=1,attempts=1", 1, 4);
    task& root = p.make();
    task& block = p.child_of(root);
    EXPECT_EQ(p->next(1, false).t, nullptr); // it starves
    EXPECT_EQ(p->spawn(0, root, block), spawn_order::parent_first);
    p->ready(0, block, ready_reason::spawned);
    task& global = p.add(0, ready_reason::spawned);
    EXPECT_EQ(p->next(0, true).t, nullptr); // the block waits for the slave that starves
    EXPECT_EQ(p->next(2, false).t, &block); // but another one was faster
    p.context.woken.clear();
    EXPECT_EQ(p->next(1, true).t, nullptr);
    ASSERT_EQ(p.context.woken.size(), 1U);
    EXPECT_TRUE(p.context.woken[0].contains(0));
    EXPECT_EQ(p->next(0, true).t, &global);
    p.context.woken.clear();
    EXPECT_EQ(p->next(1, true).t, nullptr); // nothing is left that the leader could begin
    EXPECT_TRUE(p.context.woken.empty());
}

// I2 of policy/hws.cpp.
TEST(policy_hws, leaders_steal_the_oldest_global_task_and_slaves_nothing_from_outside) {
    driven p("hws", 2, 4);
    std::vector<task*> global;
    for (int i = 0; i < 3; ++i) global.push_back(&p.add(0, ready_reason::spawned));
    EXPECT_FALSE(p.context.woken.empty());
    EXPECT_TRUE(std::ranges::any_of(p.context.woken, [](workers r) { return r.contains(4); }));
    starve(p, 4);
    const decision got = p->next(4, false);
    EXPECT_EQ(got.t, global[0]);
    EXPECT_GE(got.from, 8);
    for (worker_id slave : {1, 2, 3, 5, 6, 7}) {
        EXPECT_EQ(p->next(slave, true).t, nullptr);
        EXPECT_FALSE(p->victims(slave).contains(slave < 4 ? 4 : 0));
        for (int i = 0; i < 20; ++i) EXPECT_EQ(p->next(slave, false).from / 4, slave / 4);
    }
}

// I1 of policy/hws.cpp.
TEST(policy_hws, a_block_stays_in_its_socket) {
    driven p("hws:l=1", 2, 4);
    task& root = p.make();
    task& block = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, block), spawn_order::parent_first);
    p->ready(0, block, ready_reason::spawned);
    EXPECT_EQ(p->next(5, true).t, nullptr);
    EXPECT_EQ(p->next(4, true).t, nullptr);
    EXPECT_EQ(p->next(2, false).t, &block);
    const placement at = p->ready(6, block, ready_reason::unblocked); // by a worker of the other one
    EXPECT_EQ(at.who.first, 1);
    EXPECT_EQ(at.who.last, 4);
    EXPECT_EQ(p->next(6, true).t, nullptr);
    EXPECT_EQ(p->next(0, true).t, nullptr); // its leader feeds
    EXPECT_EQ(p->next(3, false).t, &block);
    EXPECT_TRUE(p->victims(0).empty());
    driven helps("hws:l=1,leader=helps", 2, 4);
    helps.add(0, ready_reason::root);
    EXPECT_EQ(helps->spawn(0, root, block), spawn_order::parent_first);
    helps->ready(0, block, ready_reason::spawned);
    EXPECT_EQ(helps->next(4, true).t == &block, false);
    EXPECT_EQ(helps->next(0, true).t, &block);
    EXPECT_TRUE(helps->victims(0).contains(2));
}

TEST(policy_hws, a_leader_without_slaves_runs_everything) {
    driven p("hws:l=1", 2, 1);
    task& root = p.add(1, ready_reason::root);
    EXPECT_EQ(p->next(1, false).t, &root);
    task& block = p.child_of(root);
    EXPECT_EQ(p->spawn(1, root, block), spawn_order::parent_first);
    EXPECT_EQ(p->ready(1, block, ready_reason::spawned).who.first, 1);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &block);
}

TEST(policy_hws, tasks_of_graphs_are_begun_by_any_free_worker) {
    driven p("hws:l=1", 2, 4);
    task& first = p.add(0, ready_reason::released);
    EXPECT_EQ(p->next(6, false).t, &first);
    p->started(6, first); // a block of its socket from now on
    EXPECT_EQ(p->spawn(6, first, p.child_of(first)), spawn_order::lazy);
    EXPECT_EQ(p->ready(1, first, ready_reason::unblocked).who.first, 5);
    task& second = p.add(2, ready_reason::released);
    EXPECT_EQ(p->next(0, false).t, &second); // global
    EXPECT_EQ(p->spawn(0, second, p.child_of(second)), spawn_order::parent_first);
}

/// The others may spin until it is resumed, so any free worker has to take it, leader or slave.
// I5 of policy/hws.cpp.
TEST(policy_hws, what_goes_on_beside_shares_is_taken_by_any_worker) {
    for (const char* const spec : {"hws:l=1", "hws:l=1,leader=helps"}) {
        for (worker_id w = 0; w < 4; ++w) {
            driven p(spec, 2, 2);
            task* const shares[] = {&p.make(), &p.make(), &p.make(), &p.make()};
            for (worker_id one = 0; one < 4; ++one) {
                shares[one]->width_ = 4;
                p->started(one, *shares[one]);
            }
            task& share = *shares[w];
            EXPECT_EQ(p->spawn(w, share, p.child_of(share)),
                      spawn_order::lazy); // also by a leader: nothing waits
            task& of_graph = p.make();
            p->started(w, of_graph);
            for (worker_id free = 0; free < 4; ++free) {
                for (const ready_reason reason : {ready_reason::unblocked, ready_reason::yielded,
                                                  ready_reason::joined, ready_reason::exposed}) {
                    for (task* const t : {&share, &of_graph}) {
                        EXPECT_TRUE(p->ready(w, *t, reason).who.contains(free));
                        EXPECT_EQ(p->next(free, true).t, t) << spec << ", " << w << " to " << free;
                    }
                }
            }
            for (task* const t : shares) p->finished(w, *t, {});
            task& next = p.make(); // what is left of the team, or another one of these workers
            p->started(0, next);
            EXPECT_EQ(p->spawn(0, next, p.child_of(next)), spawn_order::parent_first);
        }
    }
}

/// Slaves whose tasks yield to each other wait for a global task that no worker seems to need.
// I3 of policy/hws.cpp.
TEST(policy_hws, yielding_is_starving) {
    for (const char* const spec : {"hws:l=1", "hws:l=1,leader=helps"}) {
        driven p(spec, 1, 2);
        task& awaited = p.add(0, ready_reason::spawned);
        task& root = p.make();
        task& spins = p.child_of(root);
        p->spawn(0, root, spins);
        p->ready(0, spins, ready_reason::spawned);
        const auto idle = [&] { return p->next(0, false).t; };
        ASSERT_EQ(p->next(1, false).t, &spins);
        spins.state_ = task_state::suspended;
        task* got = nullptr;
        for (int i = 0; i < 100 && got == nullptr; ++i) {
            p->ready(1, spins, ready_reason::yielded);
            task* again = p->next(1, false).t;
            if (again == nullptr) again = p->next(1, false).t; // it looked elsewhere in between
            ASSERT_EQ(again, &spins);
            got = idle();
        }
        EXPECT_EQ(got, &awaited) << spec;
    }
}

} // namespace
} // namespace weft
