// The policies for machines of several sockets, and those that keep to the serial order, without an engine.
#include "policy/fake_context.hpp"
#include "policy/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::fake_context;

/// A policy on a machine of `sockets` packages with `cores` cores each and a worker on every core.
struct driven {
    driven(const std::string& spec, int sockets, int cores, int workers = 0)
        : on(load_synthetic("pack:" + std::to_string(sockets) + " [numa] l3:1 core:" + std::to_string(cores) +
                            " pu:1"))
        , context(workers == 0 ? sockets * cores : workers)
        , scheduler(make_policy(spec)) {
        need = scheduler->attach(on, context);
    }
    policy* operator->() const { return scheduler.get(); }

    task& make(task* parent = nullptr) {
        task& t = tasks.emplace_back();
        t.parent_ = parent;
        if (parent != nullptr) t.level_ = parent->level_ + 1;
        return t;
    }
    task& add(worker_id w, why reason) {
        task& t = make();
        scheduler->ready(w, t, reason);
        return t;
    }
    /// A child of that size.
    task& child_of(task& parent, std::size_t bytes = 0) {
        task& t = make(&parent);
        t.hint_.bytes = bytes;
        return t;
    }

    machine on;
    fake_context context;
    requirements need;
    std::unique_ptr<policy> scheduler;
    std::deque<test::task_with_bytes> tasks;
};

// ---- slaw

/// Worker 1 steals `count` tasks that worker 0 had.
void steal_from_worker_0(driven& p, int count) {
    for (int i = 0; i < count; ++i) p.add(0, why::continuation);
    for (int i = 0; i < count; ++i) ASSERT_NE(p->next(1, false).t, nullptr);
}

TEST(policy_slaw, the_stack_comes_before_the_fresh_tasks) {
    driven p("slaw:stack=0,fresh=0", 1, 2);
    task& root = p.make();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(p->spawn(0, root, p.child_of(root)), order::parent_first);
}

TEST(policy_slaw, child_first_nests_as_deep_as_the_stack_allows) {
    driven p("slaw:stack=3", 1, 2);
    task* t = &p.make();
    for (const order expected : {order::child_first, order::child_first, order::child_first,
                                 order::parent_first, order::child_first}) { // the last one on a new stack
        task& child = p.child_of(*t);
        EXPECT_EQ(p->spawn(0, *t, child), expected);
        t = &child;
    }
}

TEST(policy_slaw, the_fresh_tasks_come_before_the_steals) {
    driven p("slaw:fresh=0,interval=1", 1, 2);
    task& root = p.make();
    steal_from_worker_0(p, 2);
    task& fresh = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, fresh), order::parent_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), order::child_first); // one is fresh
    p->started(1, fresh);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), order::parent_first);
}

TEST(policy_slaw, as_many_steals_as_spawns_are_child_first_and_one_more_is_parent_first) {
    driven p("slaw:interval=2", 1, 2);
    task& root = p.make();
    const auto spawn = [&] { return p->spawn(0, root, p.child_of(root)); };
    EXPECT_EQ(spawn(), order::child_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(spawn(), order::child_first);
    steal_from_worker_0(p, 3);
    EXPECT_EQ(spawn(), order::child_first);
    EXPECT_EQ(spawn(), order::parent_first); // the next interval begins
    EXPECT_EQ(spawn(), order::parent_first);
    EXPECT_EQ(spawn(), order::child_first); // nothing was stolen in that one
}

TEST(policy_slaw, a_cancelled_task_is_fresh_no_more) {
    driven p("slaw:stack=1,fresh=0,interval=1", 1, 2);
    task& root = p.make();
    task& child = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, child), order::child_first);
    task& dropped = p.child_of(child);
    EXPECT_EQ(p->spawn(0, child, dropped), order::parent_first);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), order::child_first);
    usage cancelled;
    cancelled.cancelled = true;
    p->finished(0, dropped, cancelled);
    steal_from_worker_0(p, 2);
    EXPECT_EQ(p->spawn(0, root, p.child_of(root)), order::parent_first);
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
        const pick got = p->next(5, false);
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

TEST(policy_mts, a_thief_takes_the_oldest_for_its_whole_socket) {
    driven p("mts", 2, 4);
    std::vector<task*> six; // a b c d e f, from the oldest
    for (int i = 0; i < 6; ++i) six.push_back(&p.add(4 + i % 4, why::spawned));
    const pick got = p->next(0, false);
    EXPECT_EQ(got.t, six[3]);
    EXPECT_GE(got.from, 8); // shared, and so a steal
    EXPECT_EQ(p.context.woken.size(), 1U);
    EXPECT_EQ(p->next(3, false).t, six[2]);
    EXPECT_EQ(p->next(1, false).t, six[1]);
    EXPECT_EQ(p->next(2, false).t, six[0]);
    EXPECT_EQ(p->next(7, false).t, six[5]);
    EXPECT_EQ(p->next(6, false).t, six[4]);
}

TEST(policy_mts, only_the_first_that_finds_nothing_steals) {
    driven p("mts", 2, 2);
    EXPECT_EQ(p->next(1, false).t, nullptr); // the thief from now on
    task& far = p.add(2, why::spawned);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(p->next(0, false).t, nullptr);
    EXPECT_EQ(p->next(1, false).t, &far);
    task& next = p.add(2, why::spawned);
    EXPECT_EQ(p->next(0, false).t, &next); // the part was given back
}

TEST(policy_mts, a_thief_with_something_else_to_do_gives_the_part_back) {
    driven p("mts", 2, 2);
    task& far = p.make();
    for (const int way : {0, 1, 2}) {
        EXPECT_EQ(p->next(1, false).t, nullptr);
        p->ready(2, far, why::spawned);
        EXPECT_EQ(p->next(0, false).t, nullptr);
        if (way == 0) p->started(1, p.make()); // handed to it by the gate
        if (way == 1) p.context.active_workers = 1;
        if (way == 2) {
            task& near = p.make();
            p->ready(1, near, why::spawned);
            EXPECT_EQ(p->next(1, false).t, &near);
        }
        EXPECT_EQ(p->next(0, false).t, &far) << way;
        p.context.active_workers = -1;
        EXPECT_EQ(p->next(0, true).t, nullptr);
        EXPECT_EQ(p->next(1, true).t, nullptr);
    }
}

TEST(policy_mts, a_last_look_goes_everywhere_whoever_is_thief) {
    driven p("mts", 4, 2);
    EXPECT_EQ(p->next(1, false).t, nullptr);
    for (const why reason : {why::spawned, why::yielded}) {
        task& far = p.add(7, reason);
        EXPECT_EQ(p->next(0, true).t, &far);
    }
    EXPECT_EQ(p->next(0, true).t, nullptr);
}

TEST(policy_mts, looks_from_the_nearest_on_by_turns) {
    driven p("mts:probe=nearest", 4, 1);
    std::vector<place_id> seen;
    for (int i = 0; i < 4; ++i) seen.push_back(p->next(0, false).from);
    EXPECT_EQ(seen[0], seen[3]);
    std::sort(seen.begin(), seen.end() - 1);
    EXPECT_EQ(std::unique(seen.begin(), seen.end() - 1) - seen.begin(), 3);
    EXPECT_TRUE(p.context.bounds.empty());
}

// ---- hws: two sockets with a leader (0, 4) and three slaves each

/// The last looks of all slaves of a socket are in vain.
void starve(driven& p, worker_id leader, int slaves = 3) {
    for (int i = 1; i <= slaves; ++i) ASSERT_EQ(p->next(leader + i, true).t, nullptr);
}

TEST(policy_hws, a_program_that_halves_has_seven_global_tasks_and_eight_slave_tasks) {
    driven p("hws:l=3", 1, 4);
    starve(p, 0);
    p.add(0, why::root);
    int global = 0, blocks = 0;
    while (task* const t = p->next(0, false).t) {
        ++global;
        for (int i = 0; i < 2; ++i) {
            task& child = p.child_of(*t);
            ASSERT_EQ(p->spawn(0, *t, child), order::parent_first);
            p->ready(0, child, why::spawned);
        }
        for (worker_id slave = 1; slave < 4; ++slave) // who gets a block, is done with it, and starves again
            while (task* const got = p->next(slave, true).t) {
                ++blocks;
                EXPECT_EQ(got->level(), 3);
                EXPECT_EQ(p->spawn(slave, *got, p.child_of(*got)), order::lazy);
            }
    }
    EXPECT_EQ(global, 7);
    EXPECT_EQ(blocks, 8);
}

TEST(policy_hws, a_leader_begins_something_only_for_slaves_that_starve) {
    driven p("hws:l=2,attempts=2", 1, 4);
    task& root = p.make();
    task &one = p.child_of(root), &two = p.child_of(root);
    for (task* const t : {&one, &two}) {
        EXPECT_EQ(p->spawn(0, root, *t), order::parent_first);
        const placed at = p->ready(0, *t, why::spawned);
        EXPECT_EQ(at.who.size(), 1); // the leader
        EXPECT_EQ(at.who.first, 0);
    }
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_TRUE(p.context.woken.empty());
    EXPECT_EQ(p->next(1, false).t, nullptr); // the second attempt in vain
    ASSERT_EQ(p.context.woken.size(), 1U);
    EXPECT_TRUE(p.context.woken[0].contains(0));
    EXPECT_EQ(p->next(0, false).t, &two); // its youngest
    task& block = p.child_of(two);
    EXPECT_EQ(p->spawn(0, two, block), order::parent_first);
    const placed at = p->ready(0, block, why::spawned);
    EXPECT_EQ(at.who.first, 1); // the slaves, who do not include the leader
    EXPECT_EQ(at.who.last, 4);
    EXPECT_EQ(p->next(0, true).t, nullptr); // one starves, and one block waits for it
    EXPECT_EQ(p->next(1, false).t, &block);
    EXPECT_EQ(p->next(0, true).t, nullptr); // nobody starves
    p->ready(2, one, why::joined);          // what has begun is not kept back
    EXPECT_EQ(p->next(0, false).t, &one);
}

TEST(policy_hws, leaders_steal_the_oldest_global_task_and_slaves_nothing_from_outside) {
    driven p("hws", 2, 4);
    std::vector<task*> global;
    for (int i = 0; i < 3; ++i) global.push_back(&p.add(0, why::spawned));
    EXPECT_FALSE(p.context.woken.empty());
    EXPECT_TRUE(std::ranges::any_of(p.context.woken, [](workers r) { return r.contains(4); }));
    starve(p, 4);
    const pick got = p->next(4, false);
    EXPECT_EQ(got.t, global[0]);
    EXPECT_GE(got.from, 8);
    for (worker_id slave : {1, 2, 3, 5, 6, 7}) {
        EXPECT_EQ(p->next(slave, true).t, nullptr);
        EXPECT_FALSE(p->victims(slave).contains(slave < 4 ? 4 : 0));
        for (int i = 0; i < 20; ++i) EXPECT_EQ(p->next(slave, false).from / 4, slave / 4);
    }
}

TEST(policy_hws, a_block_stays_in_its_socket) {
    driven p("hws:l=1", 2, 4);
    task& root = p.make();
    task& block = p.child_of(root);
    EXPECT_EQ(p->spawn(0, root, block), order::parent_first);
    p->ready(0, block, why::spawned);
    EXPECT_EQ(p->next(5, true).t, nullptr);
    EXPECT_EQ(p->next(4, true).t, nullptr);
    EXPECT_EQ(p->next(2, false).t, &block);
    const placed at = p->ready(6, block, why::unblocked); // by somebody of the other one
    EXPECT_EQ(at.who.first, 1);
    EXPECT_EQ(at.who.last, 4);
    EXPECT_EQ(p->next(6, true).t, nullptr);
    EXPECT_EQ(p->next(0, true).t, nullptr); // its leader feeds
    EXPECT_EQ(p->next(3, false).t, &block);
    EXPECT_TRUE(p->victims(0).empty());
    driven helps("hws:l=1,leader=helps", 2, 4);
    helps.add(0, why::root);
    EXPECT_EQ(helps->spawn(0, root, block), order::parent_first);
    helps->ready(0, block, why::spawned);
    EXPECT_EQ(helps->next(4, true).t == &block, false);
    EXPECT_EQ(helps->next(0, true).t, &block);
    EXPECT_TRUE(helps->victims(0).contains(2));
}

TEST(policy_hws, a_leader_without_slaves_runs_everything) {
    driven p("hws:l=1", 2, 1);
    task& root = p.add(1, why::root);
    EXPECT_EQ(p->next(1, false).t, &root);
    task& block = p.child_of(root);
    EXPECT_EQ(p->spawn(1, root, block), order::parent_first);
    EXPECT_EQ(p->ready(1, block, why::spawned).who.first, 1);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &block);
}

TEST(policy_hws, tasks_of_graphs_go_to_the_slaves_that_starve) {
    driven p("hws", 2, 4);
    const auto add = [&](worker_id w) -> task& {
        task& t = p.make();
        t.graph_ = 1;
        p->ready(w, t, why::released);
        return t;
    };
    task& first = add(0);
    EXPECT_EQ(p->next(0, true).t, nullptr); // nobody starves
    starve(p, 4);
    EXPECT_EQ(p->next(4, true).t, nullptr); // it only hands it over
    EXPECT_EQ(p->next(6, true).t, &first);
    starve(p, 0);
    task& second = add(2);
    EXPECT_EQ(p->next(1, true).t, &second);
}

/// Slaves whose tasks yield to each other wait for a global task that nobody seems to need.
TEST(policy_hws, yielding_is_starving) {
    for (const char* const spec : {"hws:l=1", "hws:l=1,leader=helps"}) {
        driven p(spec, 1, 2);
        task& awaited = p.add(0, why::spawned);
        task& root = p.make();
        task& spins = p.child_of(root);
        p->spawn(0, root, spins);
        p->ready(0, spins, why::spawned);
        const auto idle = [&] { return p->next(0, false).t; };
        ASSERT_EQ(p->next(1, false).t, &spins);
        spins.state_ = task_state::suspended;
        task* got = nullptr;
        for (int i = 0; i < 100 && got == nullptr; ++i) {
            p->ready(1, spins, why::yielded);
            task* again = p->next(1, false).t;
            if (again == nullptr) again = p->next(1, false).t; // it looked elsewhere in between
            ASSERT_EQ(again, &spins);
            got = idle();
        }
        EXPECT_EQ(got, &awaited) << spec;
    }
}

// ---- pdf

/// A tree that is spawned on several workers in turn: what each next() gives is the first in serial order of
/// what is ready.
TEST(policy_pdf, whoever_is_free_gets_what_a_serial_run_comes_to_first) {
    driven p("pdf", 1, 4);
    task& root = p.add(0, why::root);
    ASSERT_EQ(p->next(0, false).t, &root);
    task &a = p.child_of(root), &b = p.child_of(root), &aa = p.child_of(a), &ba = p.child_of(b);
    EXPECT_EQ(p->spawn(0, root, a), order::child_first);
    p->ready(0, root, why::continuation);
    EXPECT_EQ(p->spawn(0, a, aa), order::child_first);
    p->ready(0, a, why::continuation);
    EXPECT_EQ(p->next(1, false).t, &a); // before the rest of the root
    EXPECT_EQ(p->next(2, false).t, &root);
    EXPECT_EQ(p->spawn(2, root, b), order::child_first);
    p->ready(2, root, why::continuation);
    EXPECT_EQ(p->spawn(2, b, ba), order::child_first);
    p->ready(2, b, why::continuation);
    p->ready(1, a, why::joined);
    p->ready(0, aa, why::unblocked);
    p->ready(2, ba, why::unblocked);
    for (task* const expected : {&aa, &a, &ba, &b, &root}) EXPECT_EQ(p->next(3, false).t, expected);
}

TEST(policy_pdf, tasks_of_graphs_go_by_their_numbers) {
    driven p("pdf", 1, 2);
    std::vector<task*> tasks;
    for (const std::uint32_t number : {2U, 0U, 3U, 1U}) {
        task& t = p.make();
        t.graph_ = 7;
        t.graph_number_ = number;
        p->ready(0, t, why::released);
        tasks.push_back(&t);
    }
    for (const std::size_t i : {1U, 3U, 0U, 2U}) EXPECT_EQ(p->next(1, false).t, tasks[i]);
}

/// Enough children in front of each other that tags run out many times.
TEST(policy_pdf, the_order_stays_right_where_there_is_no_room_left) {
    driven p("pdf", 1, 1);
    task& root = p.add(0, why::root);
    ASSERT_EQ(p->next(0, false).t, &root);
    std::vector<task*> in_order; // children of the root, then chains of first children in front of them
    for (int i = 0; i < 3000; ++i) {
        in_order.push_back(&p.child_of(root));
        p->spawn(0, root, *in_order.back());
    }
    std::vector<task*> all;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
        std::vector<task*> chain{in_order[i]};
        for (std::size_t k = 0; k < (i % 500 == 0 ? 300 : i % 3); ++k) {
            chain.push_back(&p.child_of(*chain.back()));
            p->spawn(0, *chain[k], *chain.back());
        }
        all.insert(all.end(), chain.rbegin(), chain.rend());
    }
    std::vector<task*> shuffled = all;
    std::uint32_t drawn = 1;
    for (std::size_t i = shuffled.size(); i > 1; --i) {
        drawn = drawn * 1664525U + 1013904223U;
        std::swap(shuffled[i - 1], shuffled[(std::uint64_t{drawn} * i) >> 32U]);
    }
    for (task* const t : shuffled) p->ready(0, *t, why::unblocked);
    for (task* const expected : all) ASSERT_EQ(p->next(0, false).t, expected);
    for (std::size_t i = 0; i < shuffled.size(); i += 2) p->finished(0, *shuffled[i], {}); // and some leave
    for (std::size_t i = 1; i < shuffled.size(); i += 2) p->ready(0, *shuffled[i], why::unblocked);
    std::size_t left = 0;
    while (task* const t = p->next(0, false).t) {
        while (all[left] != t) ASSERT_LT(++left, all.size());
    }
}

// ---- cpdf: an L2 of 1000 bytes and an L1 of 100

struct controlled : driven {
    explicit controlled(int cores = 4) : driven("cpdf:l2=1000,l1=100", 1, cores) {}

    /// `w` is running `parent`, which spawns a child of that size.
    task& spawns(worker_id w, task& parent, std::size_t bytes, order expected) {
        task& child = child_of(parent, bytes);
        EXPECT_EQ(scheduler->spawn(w, parent, child), expected);
        if (expected == order::child_first) {
            parent.state_ = task_state::suspended;
            scheduler->ready(w, parent, why::continuation);
        } else if (expected == order::parent_first) {
            scheduler->ready(w, child, why::spawned);
        }
        return child;
    }
    task& root_of(std::size_t bytes) {
        task& t = make();
        t.hint_.bytes = bytes;
        scheduler->ready(0, t, why::root);
        return t;
    }
    void ends(worker_id w, task& t) { scheduler->finished(w, t, {}); }
};

TEST(policy_cpdf, supernodes_of_the_shared_cache_run_one_after_another) {
    controlled p;
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    task& half = p.spawns(0, root, 2000, order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr); // the rest of the root: one above at a time
    task& first = p.spawns(0, half, 1000, order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    // Inside, all run beside each other.
    task& quarter = p.spawns(0, first, 500, order::child_first);
    EXPECT_EQ(p->next(1, false).t, &first);
    task& other = p.spawns(1, first, 500, order::child_first);
    EXPECT_EQ(p->next(2, false).t, &first);
    EXPECT_EQ(p->next(3, true).t, nullptr);
    p->blocked(2, first, why::joined);
    p.ends(0, quarter);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    p.ends(1, other);
    p->ready(1, first, why::joined);
    EXPECT_EQ(p->next(3, false).t, &first);
    p.context.woken.clear();
    p.ends(3, first);
    EXPECT_FALSE(p.context.woken.empty());
    EXPECT_EQ(p->next(2, false).t, &half); // whose turn it is, and not the root
    EXPECT_EQ(p->next(3, true).t, nullptr);
    p.spawns(2, half, 600, order::child_first);
    EXPECT_EQ(p->next(3, true).t, nullptr);
}

TEST(policy_cpdf, supernodes_of_a_private_cache_stay_on_one_worker) {
    controlled p;
    task& root = p.root_of(800);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& small = p.spawns(0, root, 100, order::child_first);
    EXPECT_EQ(p->next(1, false).t, &root);
    task& other = p.spawns(1, root, 50, order::child_first);
    EXPECT_EQ(p->next(2, false).t, &root);
    p.spawns(0, small, 50, order::lazy);
    p.spawns(1, other, 0, order::lazy);
    EXPECT_TRUE(p->victims(3).empty());
    EXPECT_FALSE(p->next(3, true).ask);
}

TEST(policy_cpdf, without_sizes_it_is_parallel_depth_first) {
    controlled p;
    task& root = p.root_of(0);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& a = p.spawns(0, root, 0, order::child_first);
    EXPECT_EQ(p->next(1, false).t, &root);
    p.spawns(0, a, 0, order::child_first);
    EXPECT_EQ(p->next(2, false).t, &a);
}

TEST(policy_cpdf, a_task_without_a_size_is_what_its_parent_is) {
    controlled p;
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& above = p.spawns(0, root, 0, order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    task& top = p.spawns(0, above, 900, order::child_first);
    p.spawns(0, top, 0, order::child_first);
    EXPECT_EQ(p->next(1, false).t, &top);
    EXPECT_EQ(p->next(2, true).t, nullptr);
}

TEST(policy_cpdf, what_is_held_goes_on_when_all_that_is_open_waits) {
    controlled p(2);
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& top = p.spawns(0, root, 900, order::child_first);
    EXPECT_EQ(p->next(1, true).t, nullptr);
    p.context.woken.clear();
    p->blocked(0, top, why::unblocked);
    EXPECT_FALSE(p.context.woken.empty()); // worker 0 might not look again
    EXPECT_EQ(p->next(1, true).t, &root);
    task& second = p.spawns(1, root, 900, order::parent_first); // one is open
    EXPECT_EQ(p->next(0, true).t, nullptr);
    p->blocked(1, root, why::joined);
    EXPECT_EQ(p->next(0, true).t, &second);
    p->goes_on(1, root); // what it waited for was over before it slept
    p.ends(0, second);
    p->ready(0, top, why::unblocked);
    EXPECT_EQ(p->next(0, false).t, &top);
    p.ends(0, top);
    p.ends(1, root);
    EXPECT_EQ(p->next(0, true).t, nullptr);
    task& next = p.root_of(4000);
    EXPECT_EQ(p->next(0, false).t, &next);
}

/// The open ones wait for a held one by yielding.
TEST(policy_cpdf, what_is_held_goes_on_when_a_worker_only_yields) {
    controlled p(1);
    task& root = p.root_of(4000);
    ASSERT_EQ(p->next(0, false).t, &root);
    task& top = p.spawns(0, root, 900, order::child_first);
    top.state_ = task_state::suspended;
    for (int i = 0; i < 1000; ++i) {
        p->ready(0, top, why::yielded);
        task* const got = p->next(0, false).t;
        if (got == &root) {
            EXPECT_GT(i, 10); // a yield or two are nothing
            return;
        }
        ASSERT_EQ(got, &top);
    }
    FAIL() << "never came to the rest of the root";
}

TEST(policy_cpdf, caches_are_those_of_the_machine) {
    driven p("cpdf", 1, 2);
    const std::int64_t shared = p.on.last_level_cache_of(0)->bytes;
    task& large = p.make();
    large.hint_.bytes = static_cast<std::size_t>(shared) + 1;
    p->ready(0, large, why::root);
    ASSERT_EQ(p->next(0, false).t, &large);
    task& fits = p.child_of(large, static_cast<std::size_t>(shared));
    EXPECT_EQ(p->spawn(0, large, fits), order::child_first);
    p->ready(0, large, why::continuation);
    EXPECT_EQ(p->next(1, true).t, nullptr);
}

} // namespace
} // namespace weft
