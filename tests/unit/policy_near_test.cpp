// The policy `near` on a machine of two packages with two cache domains of four cores each. From core 0,
// workers 1-3 are in the domain, 4-7 in the package, 8-15 in the other package.
#include "policy/fake_context.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace weft {
namespace {

using test::fake_context;

class policy_near : public testing::Test {
protected:
    void attach(const std::string& spec, int workers = 16) {
        context = std::make_unique<fake_context>(workers);
        scheduler = make_policy(spec);
        scheduler->attach(on, *context);
    }

    /// How many victims the next look of `w` chooses from; the look finds nothing.
    std::uint32_t choice(worker_id w) {
        context->bounds.clear();
        const decision got = scheduler->next(w, false);
        EXPECT_EQ(got.t, nullptr);
        EXPECT_TRUE(got.ask);
        return context->bounds.empty() ? 0 : context->bounds.back();
    }

    const machine on = load_synthetic("pack:2 [numa] l3:2 core:4 pu:1");
    std::unique_ptr<fake_context> context;
    std::unique_ptr<policy> scheduler;
};

TEST_F(policy_near, the_machine_is_what_the_tests_think) {
    ASSERT_EQ(on.size(), 16);
    EXPECT_LT(on.distance(0, 3), on.distance(0, 4));
    EXPECT_LT(on.distance(0, 7), on.distance(0, 8));
}

TEST_F(policy_near, begins_in_the_own_domain) {
    attach("near:tries=1000");
    std::set<worker_id> seen;
    for (int i = 0; i < 100; ++i) seen.insert(scheduler->next(5, false).from);
    EXPECT_EQ(seen, (std::set<worker_id>{4, 6, 7}));
}

TEST_F(policy_near, widens_after_failures_and_stays_at_the_widest) {
    attach("near:tries=3");
    for (const std::uint32_t expected : {3U, 3U, 3U, 7U, 7U, 7U, 15U, 15U, 15U, 15U, 15U, 15U, 15U}) {
        EXPECT_EQ(choice(0), expected);
    }
    EXPECT_EQ(choice(1), 3U); // each worker for itself
}

TEST_F(policy_near, a_stolen_task_brings_it_back) {
    attach("near:tries=1");
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 7U);
    EXPECT_EQ(choice(0), 15U);
    task t;
    scheduler->ready(9, t, ready_reason::continuation);
    context->draws = {8}; // the ninth of the others is worker 9
    const decision got = scheduler->next(0, false);
    EXPECT_EQ(got.t, &t);
    EXPECT_EQ(got.from, 9);
    EXPECT_EQ(choice(0), 3U);
}

TEST_F(policy_near, a_frame_that_was_asked_for_brings_it_back) {
    attach("near:tries=2");
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 7U);
    EXPECT_EQ(choice(0), 7U); // one more failure and it goes wider, but the answer comes
    task frame;
    scheduler->ready(0, frame, ready_reason::exposed);
    EXPECT_EQ(scheduler->next(0, false).t, &frame);
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 7U);
}

TEST_F(policy_near, an_ask_that_was_withdrawn_is_no_failure) {
    attach("near:tries=1");
    task t;
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(choice(0), 3U);
        scheduler->ready(0, t, ready_reason::unblocked); // work of its own comes before the answer
        EXPECT_EQ(scheduler->next(0, false).t, &t);
    }
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 7U); // this one came back empty
}

TEST_F(policy_near, a_root_brings_it_back) {
    attach("near:tries=1");
    EXPECT_EQ(choice(0), 3U);
    EXPECT_EQ(choice(0), 7U);
    task root;
    scheduler->ready(3, root, ready_reason::root);
    EXPECT_EQ(scheduler->next(0, false).t, &root);
    EXPECT_EQ(choice(0), 3U);
}

TEST_F(policy_near, a_distance_without_workers_takes_no_tries) {
    attach("near:tries=2", 2);
    context->cores = {0, 12};
    EXPECT_EQ(choice(0), 1U);
    EXPECT_EQ(choice(1), 1U);
    context->cores = {0, 1};
    EXPECT_EQ(choice(0), 1U);
}

TEST_F(policy_near, the_last_look_takes_the_nearest_of_all) {
    attach("near");
    task far, near, nearest;
    scheduler->ready(15, far, ready_reason::continuation);
    scheduler->ready(6, near, ready_reason::continuation);
    scheduler->ready(1, nearest, ready_reason::continuation);
    EXPECT_EQ(scheduler->next(0, true).t, &nearest);
    EXPECT_EQ(scheduler->next(0, true).t, &near);
    EXPECT_EQ(scheduler->next(0, true).t, &far);
    const decision nothing = scheduler->next(0, true);
    EXPECT_EQ(nothing.t, nullptr);
    EXPECT_FALSE(nothing.ask);
}

} // namespace
} // namespace weft
