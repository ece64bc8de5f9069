// A queue for each memory node that has cores, without a policy.
#include "policy/fake_context.hpp"
#include "policy/parts/fair_turns.hpp"
#include "policy/parts/node_queues.hpp"

#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace weft {
namespace {

/// Three nodes of two cores each, of which the third is the nearest to the first, and a fourth without cores.
machine three_nodes_with_cores() {
    machine_parts parts = load_synthetic("pack:3 [numa] l3:1 core:2 pu:1").parts();
    parts.memory_nodes.push_back({.kind = "hbm"});
    parts.node_distances = {10, 30, 20, 15, 30, 10, 40, 15, 20, 40, 10, 15, 15, 15, 15, 10};
    parts.node_latency_ns.clear();
    parts.node_bandwidth_gbps.clear();
    return machine(parts);
}

class queues_of_nodes : public testing::Test {
protected:
    void attach(bool takes_from_others) { queues.attach(on, context, takes_from_others); }

    task& put(int queue, int priority, bool in_front, ready_reason reason = ready_reason::spawned,
              worker_id w = 0) {
        task& t = tasks.emplace_back();
        at = queues.put(queue, t, reason, priority, in_front, w);
        return t;
    }
    task* next(worker_id w) { return queues.next(w, false).t; }
    /// Worker 0 yields `t` and takes it again, so often that it then looks elsewhere first.
    void yield_often(task& t) {
        for (unsigned i = 1; i < fair_turns::yields_to_look; ++i) {
            queues.put(0, t, ready_reason::yielded, 0, true, 0);
            ASSERT_EQ(next(0), &t) << i;
        }
        queues.put(0, t, ready_reason::yielded, 0, true, 0);
    }

    const machine on = three_nodes_with_cores();
    test::fake_context context{6};
    node_queues queues;
    std::deque<test::task_with_bytes> tasks;
    placement at;
};

TEST_F(queues_of_nodes, a_node_without_cores_has_none) {
    attach(true);
    EXPECT_EQ(queues.count(), 3);
    std::vector<int> of_node;
    for (int node = -1; node < 5; ++node) of_node.push_back(queues.of_node(node));
    EXPECT_EQ(of_node, (std::vector{-1, 0, 1, 2, -1, -1}));
}

TEST_F(queues_of_nodes, a_worker_has_the_queue_of_the_core_that_it_has_now) {
    attach(true);
    const auto of_workers = [&] {
        std::vector<int> all;
        for (worker_id w = 0; w < 6; ++w) all.push_back(queues.of_worker(w));
        return all;
    };
    EXPECT_EQ(of_workers(), (std::vector{0, 0, 1, 1, 2, 2}));
    context.cores = {5, 0, 3, 1, 4, 2};
    EXPECT_EQ(of_workers(), (std::vector{2, 0, 1, 0, 2, 1}));
}

TEST_F(queues_of_nodes, the_largest_priority_goes_first_and_equals_by_their_end) {
    attach(true);
    task &first = put(0, 1, false), &second = put(0, 1, false);
    task &third = put(0, 1, true), &last = put(0, 1, true);
    task &high = put(0, 2, false), &low = put(0, 0, true);
    for (task* const expected : {&high, &last, &third, &first, &second, &low}) EXPECT_EQ(next(1), expected);
    EXPECT_EQ(next(1), nullptr);
}

TEST_F(queues_of_nodes, a_task_that_is_put_again_is_as_new) {
    attach(true);
    task &a = put(0, 1, false), &b = put(0, 1, false);
    EXPECT_EQ(a.data<node_queues::task_part>().home, 1);
    EXPECT_EQ(next(0), &a);
    queues.put(2, a, ready_reason::joined, 1, true, 0);
    EXPECT_EQ(a.data<node_queues::task_part>().home, 3);
    EXPECT_EQ(next(5), &a);
    EXPECT_EQ(next(0), &b);
}

TEST_F(queues_of_nodes, what_yielded_waits_beside_the_others) {
    attach(true);
    task &one = put(0, 9, true, ready_reason::yielded), &two = put(0, 9, true, ready_reason::yielded);
    task& other = put(0, 0, false);
    for (task* const expected : {&other, &one, &two}) EXPECT_EQ(next(0), expected);
}

TEST_F(queues_of_nodes, a_fair_turn_begins_with_what_yielded) {
    attach(true);
    task& yielded = put(0, 9, true, ready_reason::yielded);
    for (unsigned i = 1; i < fair_turns::turns_to_fair; ++i) {
        task& other = put(0, 0, false);
        ASSERT_EQ(next(0), &other) << i;
    }
    put(0, 0, false);
    EXPECT_EQ(next(0), &yielded);
}

TEST_F(queues_of_nodes, a_worker_whose_tasks_only_yield_looks_elsewhere_first) {
    attach(true);
    task& spins = tasks.emplace_back();
    yield_often(spins);
    task& elsewhere = put(2, 0, false, ready_reason::spawned, 4);
    EXPECT_EQ(next(0), &elsewhere) << "it is that queue's turn";
    EXPECT_EQ(next(0), &spins);
}

TEST_F(queues_of_nodes, after_many_yields_one_look_passes_over_them_but_no_last_look) {
    attach(true);
    task& spins = tasks.emplace_back();
    yield_often(spins);
    EXPECT_EQ(next(0), nullptr) << "it looked elsewhere";
    EXPECT_EQ(next(0), &spins);
    yield_often(spins);
    EXPECT_EQ(queues.next(0, true).t, &spins);
}

TEST_F(queues_of_nodes, a_look_goes_to_one_other_node_and_a_last_look_to_all_the_nearest_first) {
    attach(true);
    std::vector<place_id> looks;
    for (int i = 0; i < 4; ++i) looks.push_back(queues.next(0, false).from);
    EXPECT_EQ(looks, (std::vector{7, 8, 7, 8})) << "the queues of the other nodes by turns";
    task &far = put(1, 5, false), &near = put(2, 0, false);
    task& behind = put(2, 9, false, ready_reason::yielded);
    const decision got = queues.next(0, true);
    EXPECT_EQ(got.t, &near);
    EXPECT_EQ(got.from, 8);
    EXPECT_EQ(queues.next(0, true).t, &behind);
    EXPECT_EQ(queues.next(0, true).t, &far);
    EXPECT_EQ(queues.next(0, true).t, nullptr);
}

TEST_F(queues_of_nodes, where_others_may_take_a_sleeper_of_the_node_is_woken_first) {
    attach(true);
    context.active_workers = 5;
    put(2, 0, false);
    EXPECT_EQ(at.at, 8);
    EXPECT_EQ(at.near, 4);
    EXPECT_EQ(at.who.first, 0);
    EXPECT_EQ(at.who.last, 5);
}

TEST_F(queues_of_nodes, where_workers_share_cores_none_is_nearer) {
    test::fake_context seven(7);
    seven.cores.back() = 0;
    queues.attach(on, seven, true);
    EXPECT_EQ(queues.of_worker(6), 0);
    put(2, 0, false);
    EXPECT_EQ(at.near, -1);
}

TEST_F(queues_of_nodes, where_no_other_takes_tasks_stay_on_their_node) {
    attach(false);
    task& t = put(1, 0, false);
    EXPECT_EQ(at.who.first, 2);
    EXPECT_EQ(at.who.last, 4);
    for (const worker_id other : {0, 1, 4, 5}) EXPECT_EQ(queues.next(other, true).t, nullptr) << other;
    EXPECT_EQ(next(3), &t);
    task& spins = tasks.emplace_back();
    yield_often(spins);
    EXPECT_EQ(next(0), &spins) << "there is nowhere else to look";
}

TEST_F(queues_of_nodes, workers_that_share_cores_cannot_be_kept_to_nodes) {
    test::fake_context seven(7);
    EXPECT_THROW(queues.attach(on, seven, false), error);
    EXPECT_NO_THROW(queues.attach(on, context, false));
}

} // namespace
} // namespace weft
