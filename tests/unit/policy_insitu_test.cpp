// Priority scheduling for analysis in situ: the order in which workers take tasks, and which tasks make room at a tick.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace weft {
namespace {

class insitu : public testing::Test {
protected:
    test::fake_context context_{3};
    std::unique_ptr<policy> policy_ = make_policy("insitu");
    std::deque<test::task_with_bytes> tasks_;
    task& simulation_ = made(0);
    task& analysis_ = made(-1);

    void SetUp() override { policy_->attach(machine(), context_); }

    task& made(int priority) {
        task& t = tasks_.emplace_back();
        t.hint_.priority = priority;
        return t;
    }
    task& child_of(task& parent, int priority = 0) {
        task& t = made(priority);
        EXPECT_EQ(policy_->spawn(0, parent, t), spawn_order::parent_first);
        return t;
    }
    void put(worker_id w, task& t, ready_reason why = ready_reason::spawned) { policy_->ready(w, t, why); }
    const task* next(worker_id w, bool last_look = false) { return policy_->next(w, last_look).t; }
};

TEST_F(insitu, the_simulation_comes_first_on_every_worker) {
    task &low = child_of(analysis_), &high = child_of(simulation_), &higher = child_of(simulation_);
    put(0, low);
    put(1, high);
    put(1, higher);
    EXPECT_EQ(next(0), &high);
    EXPECT_EQ(next(2), &higher);
    EXPECT_EQ(next(0), &low);
}

TEST_F(insitu, descendants_have_the_priority_of_their_parents_unless_they_say_otherwise) {
    task& child = child_of(analysis_);
    task& grandchild = child_of(child);
    task& urgent = child_of(child, 1);
    put(0, grandchild);
    put(0, urgent);
    EXPECT_EQ(next(0), &urgent);
    EXPECT_FALSE(policy_->gives_way(0, grandchild)) << "nothing waits";
    put(0, made(0));
    EXPECT_TRUE(policy_->gives_way(0, grandchild));
}

TEST_F(insitu, the_youngest_of_the_own_analysis_comes_next) {
    task* all[] = {&child_of(analysis_), &child_of(analysis_), &child_of(analysis_)};
    for (task* t : all) put(0, *t);
    EXPECT_EQ(next(0), all[2]);
    put(0, *all[2], ready_reason::preempted);
    EXPECT_EQ(next(0), all[2]) << "a preempted task continues on its worker next";
    put(0, *all[2], ready_reason::yielded);
    EXPECT_EQ(next(0), all[1]) << "a task that yields lets others go first";
    context_.draws = {0};
    EXPECT_EQ(next(1), all[0]) << "worker 1 draws victim 0, and takes its oldest";
}

TEST_F(insitu, a_task_makes_room_only_for_one_of_high_priority) {
    task &low = child_of(analysis_), &other = child_of(analysis_), &high = child_of(simulation_);
    put(0, other);
    EXPECT_FALSE(policy_->gives_way(0, low));
    put(0, high);
    EXPECT_TRUE(policy_->gives_way(0, low));
    EXPECT_TRUE(policy_->gives_way(0, simulation_))
        << "it has a type, so it may be waiting for the other in a loop";
    EXPECT_EQ(next(1), &high);
    EXPECT_FALSE(policy_->gives_way(0, low)) << "another worker has it";
}

TEST_F(insitu, without_steals_a_worker_takes_from_others_only_before_it_sleeps) {
    policy_ = make_policy("insitu:steal=off");
    policy_->attach(machine(), context_);
    task& low = child_of(analysis_);
    put(0, low);
    EXPECT_EQ(next(1), nullptr);
    EXPECT_EQ(next(1, true), &low);
}

TEST_F(insitu, a_task_that_the_gate_refused_keeps_its_turn) {
    task &first = child_of(simulation_), &second = child_of(simulation_);
    put(0, first);
    put(0, second);
    EXPECT_EQ(next(0), &first);
    put(0, first, ready_reason::granted);
    EXPECT_EQ(next(1), &first);
}

} // namespace
} // namespace weft
