// The policies for clusters (Chen & Guo 2017, 4.3.1 to 4.3.5) on a machine of two packages with four workers
// each: 0 to 3 are near each other, and so are 4 to 7. The test plays the network: it delivers what is
// posted.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

using test::fake_context;

class policy_clusters : public testing::Test {
protected:
    void attach(const std::string& spec, const char* shape = "pack:2 [numa] l3:1 core:4 pu:1") {
        on = load_synthetic(shape);
        context = std::make_unique<fake_context>(on.size());
        scheduler = make_policy(spec);
        need = scheduler->attach(on, *context);
    }

    task& add(worker_id w, ready_reason reason = ready_reason::spawned) {
        tasks.emplace_back();
        scheduler->ready(w, tasks.back(), reason);
        return tasks.back();
    }
    task* next(worker_id w) { return scheduler->next(w, false).t; }
    worker_id looked_at(worker_id w) { return scheduler->next(w, false).from; }

    std::size_t under_way() const { return context->messages.size(); }
    fake_context::message deliver_one() {
        const auto l = context->messages.front();
        context->messages.pop_front();
        scheduler->message(l.to, l.from, l.kind, l.t);
        return l;
    }
    bool is_near(worker_id a, worker_id b) const { return on.package_of(a) == on.package_of(b); }

    machine on;
    std::unique_ptr<fake_context> context;
    std::unique_ptr<policy> scheduler;
    requirements need;
    std::deque<task> tasks;
};

// ---- crs: Algorithm 4

TEST_F(policy_clusters, crs_asks_far_away_first_and_once) {
    attach("crs");
    EXPECT_TRUE(need.posts);
    for (int i = 0; i < 10; ++i) {
        const worker_id near = looked_at(0);
        EXPECT_TRUE(near > 0 && near < 4) << near;
    }
    ASSERT_EQ(under_way(), 1U);
    EXPECT_EQ(context->messages.front().from, 0);
    EXPECT_GE(context->messages.front().to, 4);
    looked_at(1); // each worker for itself
    EXPECT_EQ(under_way(), 2U);
}

TEST_F(policy_clusters, crs_asks_everybody_far_away_with_equal_chances) {
    attach("crs");
    std::set<worker_id> asked;
    for (int i = 0; i < 200; ++i) {
        next(1);
        asked.insert(deliver_one().to);
        deliver_one();
    }
    EXPECT_EQ(asked, (std::set<worker_id>{4, 5, 6, 7}));
}

TEST_F(policy_clusters, crs_asks_no_worker_while_it_has_a_task) {
    attach("crs");
    task& own = add(0);
    EXPECT_EQ(next(0), &own);
    EXPECT_EQ(under_way(), 0U);
}

TEST_F(policy_clusters, crs_does_not_withdraw_what_it_asked_for_when_it_finds_a_task_nearby) {
    attach("crs");
    task& far = add(4);
    add(4);
    add(4);
    next(4);
    context->draws = {0, 0}; // cluster, node 4
    next(0);
    ASSERT_EQ(under_way(), 1U);
    task& near = add(1);
    context->draws = {0};
    EXPECT_EQ(next(0), &near);
    deliver_one(); // the request
    const auto answer = deliver_one();
    EXPECT_EQ(answer.from, 4);
    EXPECT_EQ(answer.t, &far); // the oldest
    EXPECT_EQ(next(0), &far);
    EXPECT_EQ(under_way(), 0U);
}

TEST_F(policy_clusters, crs_puts_what_comes_at_the_tail) {
    attach("crs");
    add(4);
    add(4);
    next(4);
    context->draws = {0, 0};
    next(0);
    task& own = add(0);
    deliver_one();
    const auto answer = deliver_one();
    ASSERT_NE(answer.t, nullptr);
    EXPECT_EQ(next(0), &own);
    EXPECT_EQ(next(0), answer.t);
}

TEST_F(policy_clusters, crs_asks_again_after_any_answer) {
    attach("crs");
    next(0);
    deliver_one();
    EXPECT_EQ(deliver_one().t, nullptr);
    next(0);
    EXPECT_EQ(under_way(), 1U);
}

/// Otherwise two workers that have asked each other hand it to and fro.
TEST_F(policy_clusters, crs_gives_nothing_away_before_it_has_begun_something) {
    attach("crs");
    for (const worker_id w : {0, 4}) {
        context->draws = {0, 0};
        next(w);
    }
    add(0);
    const auto first = deliver_one(); // 0 asks 4
    EXPECT_EQ(first.from, 0);
    deliver_one(); // 4 asks 0, which has a task and has not begun it
    EXPECT_EQ(deliver_one().t, nullptr);
    EXPECT_EQ(deliver_one().t, nullptr);
}

TEST_F(policy_clusters, crs_of_one_cluster_sends_no_message) {
    attach("crs", "pack:1 [numa] l3:1 core:4 pu:1");
    for (int i = 0; i < 100; ++i) next(i % 4);
    EXPECT_EQ(under_way(), 0U);
}

/// Otherwise sleepers wake each other by their requests for ever.
TEST_F(policy_clusters, a_worker_that_has_looked_everywhere_asks_no_other_before_something_was_put) {
    for (const char* const spec : {"crs", "cls"}) {
        attach(spec);
        for (worker_id w = 0; w < 8; ++w) scheduler->next(w, true);
        while (under_way() > 0) deliver_one();
        for (worker_id w = 0; w < 8; ++w) next(w);
        EXPECT_EQ(under_way(), 0U) << spec;
        add(7);
        next(0);
        EXPECT_GE(under_way(), 1U) << spec;
    }
}

// ---- cls

TEST_F(policy_clusters, cls_steals_nearby_alone) {
    attach("cls");
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(is_near(5, looked_at(5)));
}

TEST_F(policy_clusters, cls_tells_its_coordinator_at_once_that_it_is_idle) {
    attach("cls");
    next(2);
    ASSERT_EQ(under_way(), 1U);
    EXPECT_EQ(context->messages.front().to, 0);
    next(2); // once
    EXPECT_EQ(under_way(), 1U);
}

TEST_F(policy_clusters, cls_tells_its_load_by_the_clock) {
    attach("cls:interval=1000");
    context->time = 5'000'000;
    add(2);
    EXPECT_EQ(under_way(), 1U);
    add(2);
    EXPECT_EQ(under_way(), 1U);
    context->messages.clear();
    context->time += 2'000'000;
    add(2);
    EXPECT_EQ(under_way(), 0U); // the one before has not been read
}

TEST_F(policy_clusters, cls_fetches_below_the_threshold_one_at_a_time) {
    attach("cls:threshold=3,interval=1");
    context->time = 1'000'000;
    for (int i = 0; i < 3; ++i) add(0); // the coordinator's own, told as they come: 1, 2, 3
    ASSERT_EQ(under_way(), 1U);         // at the first one
    EXPECT_GE(context->messages.front().to, 4);
    context->time += 10'000;
    add(0);
    EXPECT_EQ(under_way(), 1U);
    deliver_one();
    deliver_one(); // nothing comes; 4 tasks are not below 3
    EXPECT_EQ(under_way(), 0U);
}

TEST_F(policy_clusters, cls_of_one_cluster_sends_no_message) {
    attach("cls:interval=1", "pack:1 [numa] l3:1 core:4 pu:1");
    for (int i = 0; i < 100; ++i) {
        context->time += 1'000'000;
        add(i % 4);
        next((i + 1) % 4);
    }
    EXPECT_EQ(under_way(), 0U);
}

TEST_F(policy_clusters, cls_puts_what_comes_at_the_coordinator) {
    attach("cls");
    task& far = add(4);
    add(4);
    add(4);
    next(4);
    context->messages.clear();
    context->draws = {0, 0, 0};
    next(0);
    ASSERT_EQ(under_way(), 1U);
    deliver_one();
    EXPECT_EQ(deliver_one().t, &far);
    context->draws = {0};
    EXPECT_EQ(next(1), &far); // found at 0
}

// ---- chs

/// A heap of four: 0 above 1 and 2, 1 above 3.
TEST_F(policy_clusters, chs_asks_below_then_upwards_then_another_root) {
    attach("chs");
    EXPECT_FALSE(need.posts);
    const auto way = [&](worker_id w, int looks) {
        std::vector<worker_id> seen;
        for (int i = 0; i < looks; ++i) seen.push_back(looked_at(w));
        return seen;
    };
    EXPECT_EQ(way(1, 4), (std::vector<worker_id>{3, 0, 2, 4}));
    EXPECT_EQ(way(1, 4), (std::vector<worker_id>{3, 0, 2, 4}));
    looked_at(1); // otherwise its request is still under way for the cluster
    EXPECT_EQ(way(0, 4), (std::vector<worker_id>{1, 3, 2, 4}));
    EXPECT_EQ(way(7, 4), (std::vector<worker_id>{5, 4, 6, 0}));
}

TEST_F(policy_clusters, chs_has_one_request_of_a_cluster_under_way) {
    attach("chs");
    for (int i = 0; i < 3; ++i) looked_at(1);
    for (int i = 0; i < 3; ++i) looked_at(2);
    EXPECT_EQ(looked_at(1), 4);
    EXPECT_EQ(looked_at(2), 2); // 1 is still under way for all
    for (int i = 0; i < 3; ++i) looked_at(2);
    looked_at(1); // the answer is there
    EXPECT_EQ(looked_at(2), 4);
}

TEST_F(policy_clusters, chs_finds_what_is_anywhere_in_the_other_cluster) {
    attach("chs");
    task& hidden = add(6);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(next(0), nullptr);
    EXPECT_EQ(next(0), &hidden);
}

// ---- random pushing

TEST_F(policy_clusters, random_push_sends_its_oldest_when_it_has_too_many) {
    attach("random-push:threshold=2");
    task& oldest = add(0);
    add(0);
    EXPECT_EQ(under_way(), 0U);
    context->draws = {4}; // of the others: worker 5
    add(0);
    ASSERT_EQ(under_way(), 1U);
    EXPECT_EQ(context->messages.front().t, &oldest);
    EXPECT_EQ(deliver_one().to, 5);
    EXPECT_EQ(next(5), &oldest);
}

TEST_F(policy_clusters, random_push_keeps_what_would_be_too_many_on_their_way) {
    attach("random-push:threshold=0,in_flight=2");
    for (int i = 0; i < 5; ++i) add(0);
    EXPECT_EQ(under_way(), 2U);
    deliver_one();
    add(0);
    EXPECT_EQ(under_way(), 2U);
}

TEST_F(policy_clusters, random_push_steals_nothing) {
    attach("random-push:threshold=100");
    add(0);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(next(1), nullptr);
    EXPECT_NE(scheduler->next(1, true).t, nullptr); // but a worker that goes to sleep leaves nothing behind
}

TEST_F(policy_clusters, random_push_sends_only_what_was_created) {
    attach("random-push:threshold=0");
    for (const ready_reason reason :
         {ready_reason::root, ready_reason::unblocked, ready_reason::yielded, ready_reason::joined})
        add(0, reason);
    EXPECT_EQ(under_way(), 0U);
}

// ---- tatl

/// C=4, lambda T_push=2, mu T_pop=1: S=3, s=1.
TEST_F(policy_clusters, tatl_shows_victims_with_hysteresis) {
    attach("tatl:capacity=4,push=2,pop=1");
    add(1);
    add(1);
    EXPECT_EQ(next(0), nullptr);
    task& third = add(1);
    EXPECT_NE(next(0), nullptr); // two are left: still a victim
    EXPECT_NE(next(2), nullptr); // one is left: a thief
    EXPECT_EQ(next(3), nullptr);
    EXPECT_EQ(next(1), &third);
}

/// The vectors C=64, 16, 4 and C=64, 3, 4 of equation (4.1): S = 52, and 65 kept within 64.
TEST_F(policy_clusters, tatl_keeps_the_threshold_within_the_capacity) {
    for (const auto& [spec, threshold] :
         {std::pair{"tatl:capacity=64,push=16,pop=4", 52}, std::pair{"tatl:capacity=64,push=3,pop=4", 64}}) {
        attach(spec);
        for (int i = 1; i < threshold; ++i) add(1);
        EXPECT_EQ(next(0), nullptr) << spec;
        add(1);
        EXPECT_NE(next(0), nullptr) << spec;
    }
}

TEST_F(policy_clusters, tatl_goes_far_only_if_no_near_worker_is_a_victim) {
    attach("tatl:capacity=2,push=1,pop=0");
    for (int i = 0; i < 4; ++i) add(6);
    EXPECT_EQ(looked_at(0), 6);
    for (int i = 0; i < 4; ++i) add(3);
    EXPECT_EQ(looked_at(0), 3);
    EXPECT_TRUE(context->bounds.empty()); // no victim is drawn
}

// ---- all of them

TEST_F(policy_clusters, a_last_look_leaves_out_no_worker) {
    for (const char* const spec : {"random-push:threshold=100", "chs", "cls", "crs", "tatl"})
        for (worker_id w = 0; w < 8; ++w)
            for (worker_id holder = 0; holder < 8; ++holder)
                for (const ready_reason reason :
                     {ready_reason::spawned, ready_reason::yielded, ready_reason::root}) {
                    attach(spec);
                    task& hidden = add(holder, reason);
                    EXPECT_EQ(scheduler->next(w, true).t, &hidden) << spec << ' ' << w << ' ' << holder;
                }
}

} // namespace
} // namespace weft
