// How policies with the knob `wide` keep and share the queued children of a wide group.
#include "policy/fake_context.hpp"
#include "policy/parts/places.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>

namespace weft {
namespace {

using test::fake_context;
using test::task_with_bytes;

class policy_wide_groups : public testing::TestWithParam<const char*> {
protected:
    requirements attach(const std::string& spec, int workers = 2) {
        context = std::make_unique<fake_context>(workers);
        scheduler = make_policy(spec);
        return scheduler->attach(on, *context);
    }
    void queue_children(worker_id w, int count) {
        for (int i = 0; i < count; ++i) offer(w, true);
    }
    void offer(worker_id w, bool of_wide_group) {
        task& t = records.emplace_back();
        t.of_wide_group_ = of_wide_group;
        scheduler->ready(w, t, ready_reason::spawned);
    }
    /// All that `w` gets from its own place before it looks elsewhere, and everything that is left after that.
    struct found {
        int own = 0;
        std::set<task*> all;
    };
    found drain(worker_id w) {
        found f;
        for (;;) {
            const decision p = scheduler->next(w, false);
            if (!p.t) return f;
            f.own += p.from == w && f.own == static_cast<int>(f.all.size()) ? 1 : 0;
            EXPECT_TRUE(f.all.insert(p.t).second) << "a task was given twice";
        }
    }

    const machine on = load_synthetic("pack:1 [numa] l3:1 core:2 pu:1");
    std::unique_ptr<fake_context> context;
    std::unique_ptr<policy> scheduler;
    std::deque<task_with_bytes> records;
};

TEST_P(policy_wide_groups, are_asked_for_in_the_lazy_zone_only) {
    EXPECT_TRUE(attach(GetParam()).wide_groups);
    EXPECT_FALSE(attach(GetParam() + std::string(":wide=steal")).wide_groups);
}

TEST_P(policy_wide_groups, have_children_queued_while_few_wait) {
    attach(GetParam());
    const int most = std::max(2 * places::queued_for_each_worker, places::least_queued);
    for (int i = 0; i < most; ++i) {
        ASSERT_TRUE(scheduler->queues_child(0)) << i;
        queue_children(0, 1);
    }
    EXPECT_FALSE(scheduler->queues_child(0)) << "the deque grows without bound";
    EXPECT_TRUE(scheduler->queues_child(1)) << "the other worker's deque is empty";
}

TEST_P(policy_wide_groups, a_thief_takes_half_and_each_task_once) {
    attach(GetParam());
    queue_children(0, 21);
    const decision got = scheduler->next(1, false);
    ASSERT_NE(got.t, nullptr);
    EXPECT_EQ(got.t, &records[0]) << "the oldest";
    EXPECT_EQ(got.from, 0);
    EXPECT_EQ(got.moved, 10) << "half of the 20 that were left";
    const found rest = drain(1);
    EXPECT_EQ(rest.own, 10);
    EXPECT_EQ(rest.all.size(), 20u);
}

TEST_P(policy_wide_groups, a_thief_takes_one_without_them) {
    attach(GetParam() + std::string(":wide=steal"));
    queue_children(0, 21);
    const decision got = scheduler->next(1, false);
    ASSERT_NE(got.t, nullptr);
    EXPECT_EQ(got.moved, 0);
    EXPECT_EQ(drain(0).own, 20);
}

TEST_P(policy_wide_groups, a_thief_takes_one_of_other_tasks) {
    attach(GetParam());
    for (int i = 0; i < 21; ++i) offer(0, false);
    EXPECT_EQ(scheduler->next(1, false).moved, 0);
}

TEST_P(policy_wide_groups, a_thief_takes_a_bounded_number) {
    attach(GetParam());
    queue_children(0, 1000);
    EXPECT_EQ(scheduler->next(1, false).moved, places::most_moved);
}

INSTANTIATE_TEST_SUITE_P(policies, policy_wide_groups, testing::Values("steal", "near", "pws"),
                         [](const auto& given) { return std::string(given.param); });

TEST(policy_steal, in_the_reported_zone_is_as_the_book_has_it) {
    const machine on = load_synthetic("pack:1 [numa] l3:1 core:2 pu:1");
    fake_context context(2);
    const auto scheduler = make_policy("steal:zone=reported");
    EXPECT_FALSE(scheduler->attach(on, context).wide_groups);
    std::deque<task_with_bytes> records(5);
    for (auto& t : records) scheduler->ready(0, t, ready_reason::continuation);
    EXPECT_EQ(scheduler->next(1, false).moved, 0);
}

} // namespace
} // namespace weft
