// Thread packing: which worker takes from which pool, and in which order. The example is that of the thesis's figure: the tasks
// of four workers on three.
#include "policy/fake_context.hpp"
#include "policy/parts/packed_pools.hpp"
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace weft {
namespace {

TEST(packed_pools, every_pool_is_served_and_few_are_shared) {
    for (int pools = 1; pools <= 60; ++pools)
        for (int active = 1; active <= pools; ++active) {
            const packed_pools split{pools, active};
            std::vector<int> owners(static_cast<std::size_t>(pools));
            for (worker_id w = 0; w < active; ++w)
                for (int i = 0; i < split.of_each(); ++i) {
                    const int at = split.private_pool(w, i);
                    ASSERT_LT(at, split.privates());
                    EXPECT_EQ(split.owner(at), w);
                    ++owners[static_cast<std::size_t>(at)];
                }
            for (int at = 0; at < pools; ++at)
                EXPECT_EQ(owners[static_cast<std::size_t>(at)], split.is_shared(at) ? 0 : 1);
            EXPECT_LT(split.shared(), active) << "so that the shared ones end first";
            EXPECT_EQ(split.shared(), pools % active);
        }
}

/// A policy with a root whose children it has placed.
class packing : public testing::Test {
protected:
    static constexpr int count = 4;
    test::fake_context context_{count};
    std::unique_ptr<policy> policy_ = make_policy("packing");
    std::deque<test::task_with_bytes> tasks_;
    task& root_ = tasks_.emplace_back();

    void SetUp() override { policy_->attach(machine(), context_); }

    task& child(int index) {
        task& t = tasks_.emplace_back();
        t.index_ = index;
        t.level_ = 1;
        EXPECT_EQ(policy_->spawn(0, root_, t), spawn_order::parent_first);
        return t;
    }
    placement put(task& t, ready_reason why = ready_reason::spawned) { return policy_->ready(0, t, why); }
    /// What the worker runs next, by its index; -1: nothing.
    int next(worker_id w) {
        const task* const t = policy_->next(w, true).t;
        return t ? t->index_ : -1;
    }
    task& at(int index) { return tasks_[static_cast<std::size_t>(index) + 1]; }
    void spawn_all() {
        for (int i = 0; i < count; ++i) put(child(i));
    }
};

TEST_F(packing, with_all_workers_each_has_its_own) {
    spawn_all();
    for (worker_id w = 0; w < count; ++w) {
        EXPECT_EQ(next(w), w);
        EXPECT_EQ(next(w), -1);
    }
}

TEST_F(packing, a_worker_runs_one_of_its_own_and_one_of_the_shared_ones_in_turn) {
    context_.active_workers = 3; // worker 3 is inactive, so its pool is shared
    spawn_all();
    for (const int expected : {0, 3, 0, 3}) {
        EXPECT_EQ(next(0), expected);
        put(at(expected), ready_reason::preempted);
    }
    EXPECT_EQ(next(1), 1);
    EXPECT_EQ(next(0), 0);
    EXPECT_EQ(next(1), 3);
    EXPECT_EQ(next(0), -1) << "the shared one is running, and worker 2 has its own";
    EXPECT_EQ(next(2), 2);
    EXPECT_EQ(next(3), -1) << "it is not active";
}

TEST_F(packing, on_half_of_the_workers_each_has_two_of_its_own) {
    context_.active_workers = 2;
    spawn_all();
    for (const int expected : {0, 2, 0, 2, 0}) {
        EXPECT_EQ(next(0), expected) << "the search goes on behind the pool that had a task the last time";
        put(at(expected), ready_reason::preempted);
    }
    EXPECT_EQ(next(1), 1);
    EXPECT_EQ(next(1), 3);
    EXPECT_EQ(next(1), -1);
}

TEST_F(packing, shared_pools_have_their_turns) {
    context_.active_workers = 3;
    test::fake_context eight(8);
    eight.active_workers = 5; // three of eight are shared
    const auto p = make_policy("packing");
    p->attach(machine(), eight);
    std::vector<int> runs(8);
    std::deque<test::task_with_bytes> all(8);
    task& root = tasks_.front();
    for (int i = 0; i < 8; ++i) {
        task& t = all[static_cast<std::size_t>(i)];
        t.index_ = i;
        p->spawn(0, root, t);
        p->ready(0, t, ready_reason::spawned);
    }
    for (int round = 0; round < 60; ++round)
        for (worker_id w = 0; w < 5; ++w) {
            task* const t = p->next(w, false).t;
            ASSERT_NE(t, nullptr);
            ++runs[static_cast<std::size_t>(t->index_)];
            p->ready(w, *t, ready_reason::preempted);
        }
    for (int i = 0; i < 8; ++i) EXPECT_EQ(runs[static_cast<std::size_t>(i)], i < 5 ? 30 : 50) << i;
}

TEST_F(packing, a_task_comes_back_to_its_home_from_any_worker) {
    context_.active_workers = 3;
    spawn_all();
    EXPECT_EQ(next(1), 1);
    EXPECT_EQ(next(1), 3);
    const placement p = policy_->ready(1, at(3), ready_reason::preempted);
    EXPECT_EQ(p.at, 3);
    EXPECT_EQ(p.who.first, 0);
    EXPECT_EQ(p.who.last, 3) << "any active worker may take it";
    const placement own = policy_->ready(2, at(1), ready_reason::joined);
    EXPECT_EQ(own.at, 1);
    EXPECT_EQ(own.who.first, 1);
    EXPECT_EQ(own.who.last, 2) << "only its owner looks there";
}

TEST_F(packing, roots_and_tasks_of_graphs_have_homes_by_their_numbers) {
    task& second = tasks_.emplace_back();
    second.root_ = 5;
    EXPECT_EQ(put(second, ready_reason::root).at, 1);
    task& node = tasks_.emplace_back();
    node.graph_ = 7;
    node.graph_number_ = 6;
    EXPECT_EQ(put(node, ready_reason::released).at, 2);
    // Children of a child follow on their parent's pool.
    task& inner = child(2);
    task& grandchild = tasks_.emplace_back();
    grandchild.index_ = 3;
    grandchild.level_ = 2;
    policy_->spawn(0, inner, grandchild);
    EXPECT_EQ(put(grandchild).at, 1);
}

TEST_F(packing, a_task_that_the_gate_refused_keeps_its_turn) {
    task &first = child(0), &second = child(4);
    put(first);
    put(second);
    EXPECT_EQ(next(0), 0);
    put(first, ready_reason::granted);
    EXPECT_EQ(next(0), 0);
}

/// (P1) The number of active workers changes between the two looks of ready().
TEST(packing_while_resized, all_workers_are_woken) {
    int active = 4, woken = 0;
    const packed_pools before{8, 4};
    const auto now = [&] { return active; };
    const auto wake = [&] { ++woken; };
    EXPECT_EQ(workers_for<queue::std_sync>(6, before, now, wake).first, 2);
    EXPECT_EQ(woken, 0);
    active = 3;
    EXPECT_TRUE(workers_for<queue::std_sync>(6, before, now, wake).empty());
    EXPECT_EQ(woken, 1);
}

TEST(packing_while_resized, the_policy_wakes_those_that_are_active_now) {
    test::fake_context context(4);
    const auto p = make_policy("packing");
    EXPECT_TRUE(p->attach(machine(), context).resizable);
    p->resized({0, 3});
    ASSERT_EQ(context.woken.size(), 1U);
    EXPECT_EQ(context.woken.front().last, 3);
}

} // namespace
} // namespace weft
