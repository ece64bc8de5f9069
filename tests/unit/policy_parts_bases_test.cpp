// The base classes of policies, with a derived class that adds as little as it can: the one for clusters, the one that steals
// below the tasks of graphs, the one for critical sections.
#include "policy/fake_context.hpp"
#include "policy/parts/cluster_policy.hpp"
#include "policy/parts/critical_sections.hpp"
#include "policy/parts/plain_stealing.hpp"

#include "machine/load.hpp"
#include "machine/speeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace weft {
namespace {

using test::fake_context;
using test::task_with_bytes;

// ---- cluster_policy

/// Looks at its own places only.
struct alone_in_its_cluster final : cluster_policy {
    using cluster_policy::arrived;
    using cluster_policy::last_look;
    using cluster_policy::look_for_yielded;
    using cluster_policy::spare;

    decision next(worker_id w, bool last_look) override { return decided(w, places_.own(w, last_look)); }
    std::uint32_t puts() const { return puts_.total(); }
};

/// Two packages of two workers.
class policy_for_clusters : public testing::Test {
protected:
    policy_for_clusters() { need = policy.attach(on, context); }
    void add(worker_id w, task& added, ready_reason reason = ready_reason::spawned) {
        policy.ready(w, added, reason);
    }

    const machine on = load_synthetic("pack:2 [numa] l3:1 core:2 pu:1");
    fake_context context{4};
    alone_in_its_cluster policy;
    requirements need;
    std::array<task_with_bytes, 4> t;
};

TEST_F(policy_for_clusters, offers_children_and_posts_messages) {
    EXPECT_TRUE(need.posts);
    EXPECT_EQ(policy.spawn(0, t[0], t[1]), spawn_order::parent_first);
}

TEST_F(policy_for_clusters, counts_what_is_put_and_what_comes_by_a_message) {
    EXPECT_EQ(policy.puts(), 0U);
    add(0, t[0]);
    policy.arrived(3, t[1]);
    EXPECT_EQ(policy.puts(), 2U);
}

TEST_F(policy_for_clusters, the_last_look_goes_everywhere_but_home_and_first_through_the_own_cluster) {
    add(0, t[0]);
    add(2, t[1]);
    add(3, t[2]);
    const decision near = policy.last_look(3);
    EXPECT_EQ(near.t, &t[1]);
    EXPECT_EQ(near.from, 2);
    EXPECT_EQ(policy.last_look(3).t, &t[0]);
    EXPECT_EQ(policy.last_look(3).t, nullptr) << "its own task is not looked for elsewhere";
    EXPECT_EQ(policy.next(3, true).t, &t[2]);
}

/// Two idle workers that ask each other would send a task to and fro for ever.
TEST_F(policy_for_clusters, a_worker_gives_its_oldest_task_and_only_while_it_runs_another_one) {
    for (const int i : {0, 1, 2}) add(1, t[static_cast<std::size_t>(i)]);
    EXPECT_EQ(policy.spare(1), nullptr) << "it runs nothing";
    EXPECT_EQ(policy.next(1, false).t, &t[2]);
    EXPECT_EQ(policy.spare(1), &t[0]);
    EXPECT_EQ(policy.next(1, false).t, &t[1]);
    EXPECT_EQ(policy.next(1, true).t, nullptr);
    add(1, t[3]);
    EXPECT_EQ(policy.spare(1), nullptr) << "its last search has given nothing";
    EXPECT_EQ(policy.next(1, false).t, &t[3]);
    EXPECT_EQ(policy.spare(1), nullptr) << "it has no other one";
}

TEST_F(policy_for_clusters, what_comes_by_a_message_is_taken_after_the_own_tasks) {
    add(2, t[0]);
    EXPECT_EQ(policy.arrived(2, t[1]).at, 2);
    EXPECT_EQ(policy.next(2, false).t, &t[0]);
    EXPECT_EQ(policy.next(2, false).t, &t[1]);
}

TEST_F(policy_for_clusters, a_worker_with_tasks_that_yield_looks_at_one_other_worker) {
    add(1, t[0]);
    EXPECT_EQ(policy.look_for_yielded(0).t, nullptr) << "no task of worker 0 has yielded";
    EXPECT_TRUE(context.bounds.empty());
    add(0, t[1], ready_reason::yielded);
    context.draws = {0}; // of workers 1, 2 and 3
    const decision found = policy.look_for_yielded(0);
    EXPECT_EQ(found.t, &t[0]);
    EXPECT_EQ(found.from, 1);
    EXPECT_EQ(context.bounds, std::vector<std::uint32_t>{3});
}

// ---- plain_stealing

struct stealing_only final : plain_stealing {
    using plain_stealing::is_node;

    requirements attach(const machine&, policy_context& context) override { return attach_plain(context); }
    decision next(worker_id w, bool last_look) override { return next_plain(w, last_look); }
};

class below_graph_tasks : public testing::Test {
protected:
    below_graph_tasks() { need = policy.attach(load_synthetic("core:3 pu:1"), context); }

    fake_context context{3};
    stealing_only policy;
    requirements need;
    std::array<task_with_bytes, 40> t;
};

TEST_F(below_graph_tasks, roots_are_silent_and_graph_tasks_are_not) {
    EXPECT_TRUE(need.lazy);
    EXPECT_TRUE(need.graph_tasks);
    EXPECT_TRUE(need.wide_groups);
    EXPECT_EQ(policy.victims(1).size(), 3);
}

TEST_F(below_graph_tasks, the_own_tasks_come_first_and_then_one_look_at_a_random_worker) {
    policy.ready(1, t[0], ready_reason::unblocked);
    policy.ready(2, t[1], ready_reason::unblocked);
    EXPECT_EQ(policy.next(1, false).t, &t[0]);
    EXPECT_TRUE(context.bounds.empty());
    context.draws = {0};
    const decision none = policy.next(1, false); // a look at worker 0, which has nothing
    EXPECT_EQ(none.t, nullptr);
    EXPECT_EQ(none.from, 0);
    EXPECT_TRUE(none.ask) << "worker 0 may have hidden frames";
    EXPECT_EQ(policy.next(1, true).t, &t[1]) << "a last look leaves out nothing";
    EXPECT_EQ(policy.next(1, true).t, nullptr);
}

TEST_F(below_graph_tasks, a_thief_takes_half_of_the_children_of_a_wide_group) {
    for (std::size_t i = 0; i < 9; ++i) {
        t[i].of_wide_group_ = true;
        policy.ready(0, t[i], ready_reason::spawned);
    }
    context.draws = {0};
    const decision found = policy.next(2, false);
    EXPECT_EQ(found.t, &t[0]);
    EXPECT_EQ(found.moved, 4);
    EXPECT_EQ(policy.next(2, false).t, &t[4]) << "what was moved is its own now, the youngest first";
    EXPECT_EQ(policy.next(0, false).t, &t[8]);
}

TEST_F(below_graph_tasks, children_are_queued_until_the_deque_has_enough_for_all) {
    int queued = 0;
    std::vector<std::unique_ptr<task_with_bytes>> more;
    while (policy.queues_child(0) && queued < 10'000) {
        more.push_back(std::make_unique<task_with_bytes>());
        policy.ready(0, *more.back(), ready_reason::spawned);
        ++queued;
    }
    EXPECT_GE(queued, 3);
    EXPECT_LT(queued, 10'000) << "what waits takes memory without bound";
    EXPECT_TRUE(policy.queues_child(1));
    policy.next(0, false);
    EXPECT_TRUE(policy.queues_child(0));
    while (policy.next(0, true).t != nullptr) {}
}

TEST_F(below_graph_tasks, a_node_is_a_task_of_a_graph_that_has_not_begun) {
    for (const ready_reason reason : {ready_reason::released, ready_reason::granted}) {
        EXPECT_FALSE(stealing_only::is_node(t[0], reason)) << "of no graph";
        t[1].graph_ = 7;
        t[1].state_ = task_state::fresh;
        EXPECT_TRUE(stealing_only::is_node(t[1], reason));
        t[1].state_ = task_state::suspended;
        EXPECT_FALSE(stealing_only::is_node(t[1], reason))
            << "the gate had refused it, or it had waited, in the middle";
    }
    t[1].state_ = task_state::fresh;
    for (const ready_reason reason :
         {ready_reason::spawned, ready_reason::unblocked, ready_reason::yielded, ready_reason::root})
        EXPECT_FALSE(stealing_only::is_node(t[1], reason));
}

// ---- critical_sections

/// All locks below 5 are worth a fast core.
struct accelerating final : critical_sections {
    bool is_critical(std::uint32_t lock) override { return lock < 5; }
};

class sections_on_fast_cores : public testing::Test {
protected:
    void attach(std::vector<double> speeds) {
        const int workers = static_cast<int>(speeds.size());
        on = with_speeds(load_synthetic("pack:1 [numa] l3:1 core:8 pu:1"), speeds);
        context = std::make_unique<fake_context>(workers);
        context->runs.resize(speeds.size());
        need = policy.attach(on, *context);
        for (int w = 0; w < workers; ++w) busy(w);
    }
    void busy(worker_id w, bool is = true) { context->runs[static_cast<std::size_t>(w)].busy = is; }
    void lock(worker_id w, std::uint32_t number = 0) {
        policy.lock_taken(w, t[static_cast<std::size_t>(w)], number);
    }
    void unlock(worker_id w, std::uint32_t number = 0) {
        policy.lock_released(w, t[static_cast<std::size_t>(w)], number);
    }
    int core_of(worker_id w) const { return context->core_of(w); }

    machine on = load_synthetic("core:1 pu:1");
    std::unique_ptr<fake_context> context;
    accelerating policy;
    requirements need;
    std::array<task_with_bytes, 8> t; ///< worker w runs task w
};

TEST_F(sections_on_fast_cores, are_run_there_and_the_core_is_given_back) {
    attach({1, 0.5});
    EXPECT_TRUE(need.locks);
    EXPECT_TRUE(need.exchanges);
    lock(1);
    EXPECT_EQ(context->cores, (std::vector{1, 0}));
    unlock(1);
    EXPECT_EQ(context->cores, (std::vector{0, 1}));
    EXPECT_EQ(context->exchanged.size(), 2U);
}

TEST_F(sections_on_fast_cores, stay_where_they_are_on_a_fast_core_or_for_a_lock_that_is_not_worth_it) {
    attach({1, 0.5});
    lock(0);
    unlock(0);
    lock(1, 9);
    unlock(1, 9);
    EXPECT_TRUE(context->exchanged.empty());
}

TEST_F(sections_on_fast_cores, take_an_idle_core_if_there_is_one) {
    attach({1, 1, 1, 0.5});
    busy(1, false);
    lock(3);
    EXPECT_EQ(core_of(3), 1);
}

TEST_F(sections_on_fast_cores, end_with_the_last_lock_of_the_task) {
    attach({1, 0.5});
    lock(1, 9);
    lock(1, 0);
    lock(1, 1);
    EXPECT_EQ(core_of(1), 0);
    unlock(1, 1);
    unlock(1, 0);
    EXPECT_EQ(core_of(1), 0) << "it holds the first lock still";
    unlock(1, 9);
    EXPECT_EQ(core_of(1), 1);
    lock(1, 9);
    EXPECT_EQ(core_of(1), 1) << "it remembers the lock that it has given back";
}

TEST_F(sections_on_fast_cores, give_the_core_back_while_they_are_blocked) {
    attach({1, 0.5});
    lock(1);
    policy.blocked(1, t[1], ready_reason::unblocked);
    EXPECT_EQ(core_of(1), 1);
    policy.resumed(1, t[1]);
    EXPECT_EQ(core_of(1), 0);
    policy.finished(1, t[1], {});
    EXPECT_EQ(core_of(1), 1) << "the task has ended with its lock";
}

TEST_F(sections_on_fast_cores, a_lock_that_another_task_gives_back_counts_for_the_one_that_took_it) {
    attach({1, 0.5, 0.5});
    lock(1);
    unlock(2); // by a task that holds none
    EXPECT_EQ(core_of(1), 0);
    policy.finished(1, t[1], {});
    EXPECT_EQ(core_of(1), 1);
}

TEST_F(sections_on_fast_cores, a_fast_core_serves_one_at_a_time) {
    attach({1, 0.5, 0.5});
    lock(1, 0);
    lock(2, 1);
    EXPECT_EQ(context->cores, (std::vector{1, 0, 2})) << "the second one goes on where it is";
    unlock(2, 1);
    EXPECT_EQ(core_of(1), 0);
    unlock(1, 0);
    lock(2, 1);
    EXPECT_EQ(context->cores, (std::vector{2, 1, 0})) << "the core is free again";
}

TEST_F(sections_on_fast_cores, an_exchange_that_the_engine_refuses_leaves_the_fast_core_to_others) {
    attach({1, 0.5, 0.5});
    context->can_exchange = false;
    lock(1, 0);
    context->can_exchange = true;
    lock(2, 1);
    EXPECT_EQ(core_of(2), 0);
    unlock(1, 0);
    EXPECT_EQ(context->cores, (std::vector{2, 1, 0})) << "the first one had no core to give back";
}

/// Any order of sections: one that was moved to a fast core keeps it to its end, and then its worker has the core from which
/// it came.
TEST_F(sections_on_fast_cores, of_any_order_keep_their_core_and_return_to_the_one_before) {
    attach({1, 1, 0.5, 0.5, 0.5, 0.25});
    std::mt19937 draw(1);
    std::array<int, 6> from{}, serves{};
    from.fill(-1);
    serves.fill(-1);
    const auto is_fast = [&](int core) { return on.speed_of(core) >= 1; };
    int moved = 0;
    for (int step = 0; step < 20'000; ++step) {
        const auto w = static_cast<worker_id>(draw() % 6);
        const auto i = static_cast<std::size_t>(w);
        const bool held = t[i].data<int>() > 0;
        if (!held) {
            const int before = core_of(w);
            lock(w, static_cast<std::uint32_t>(w) % 5);
            if (core_of(w) != before) {
                ASSERT_TRUE(is_fast(core_of(w)) && !is_fast(before));
                from[i] = before;
                serves[i] = core_of(w);
                ++moved;
            }
        } else {
            unlock(w, static_cast<std::uint32_t>(w) % 5);
            if (from[i] >= 0) { ASSERT_EQ(core_of(w), from[i]) << "step " << step; }
            from[i] = serves[i] = -1;
        }
        for (std::size_t v = 0; v < 6; ++v)
            if (serves[v] >= 0) {
                ASSERT_EQ(core_of(static_cast<worker_id>(v)), serves[v]) << "step " << step;
            }
        auto cores = context->cores;
        std::ranges::sort(cores);
        ASSERT_EQ(cores, (std::vector{0, 1, 2, 3, 4, 5}));
    }
    EXPECT_GT(moved, 1000);
}

} // namespace
} // namespace weft
