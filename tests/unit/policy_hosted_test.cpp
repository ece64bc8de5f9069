#include "policy/hosted/hosted_policy.hpp"

#include "policy/seam/registry.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>

namespace weft::hosted {
namespace {

std::exception_ptr failure;
int fails_at = -1;         ///< the call of next() that throws; -1: none
std::string says = "call"; ///< the answer of spawn()

/// One queue for all workers, first in, first out.
class one_queue final : public hooks {
public:
    requirements attach(const machine&, policy_context&) override { return {}; }
    placed ready(worker_id, task& t, const char*, bool) override {
        all_.push_back(&t);
        return {.at = 0};
    }
    found next(worker_id, bool) override {
        if (calls_++ == fails_at) throw std::runtime_error("next() fails");
        if (all_.empty()) return {.is = found::kind::at_place, .number = 0};
        task* const t = all_.front();
        all_.pop_front();
        return {.is = found::kind::a_task, .t = t};
    }
    std::optional<workers> victims(worker_id) override { return workers{}; }
    elastic_place mold(worker_id w, task&) override { return {w, 1}; }
    void assemble(worker_id, std::span<task* const>, elastic_place) override {}
    std::string spawn(worker_id, task&, task&) override { return says; }
    void group_begin(worker_id, task&, group&) override {}
    std::string group_wait(worker_id, task&, group&) override { return "stay"; }
    void group_end(worker_id, task&, group&) override {}
    void started(worker_id, task&) override {}
    void blocked(worker_id, task&, const char*) override {}
    void finished(worker_id, task&, const usage&) override {}
    void iteration(worker_id, task&, int) override {}
    bool gives_way(worker_id, task&) override { return true; }
    void tick(time_ns) override {}

private:
    std::deque<task*> all_;
    int calls_ = 0;
};

/// Returns the message of the first failure; empty if there was none.
std::string run_with(int fails, const std::string& word) {
    static const bool registered = [] {
        register_policy({.name = "hosted-test",
                         .summary = "one queue",
                         .source = "test",
                         .knobs = {},
                         .make = [](const knob_values&) -> std::unique_ptr<policy> {
                             return std::make_unique<hosted_policy>(std::make_unique<one_queue>(), failure);
                         }});
        return true;
    }();
    static_cast<void>(registered);
    failure = nullptr;
    fails_at = fails;
    says = word;
    runtime rt({.policy = "hosted-test",
                .engine = "model",
                .machine = WEFT_SOURCE_DIR "/machines/core-i7-2600k.toml",
                .costs = "declared"});
    int sum = 0;
    rt.run([&] {
        task_group g;
        for (int i = 1; i <= 10; ++i)
            g.run([&sum, i] {
                cost(1000);
                sum += i;
            });
        g.wait();
    });
    EXPECT_EQ(sum, 55);
    if (!failure) return {};
    try {
        std::rethrow_exception(failure);
    } catch (const std::exception& e) { return e.what(); }
}

TEST(policy_hosted, decides_like_any_policy) {
    for (const char* word : {"call", "parent_first", "child_first"}) EXPECT_EQ(run_with(-1, word), "");
}

TEST(policy_hosted, after_a_failure_the_program_comes_to_its_end) {
    for (int call = 0; call < 12; ++call) EXPECT_EQ(run_with(call, "parent_first"), "next() fails");
}

TEST(policy_hosted, shares_come_to_their_workers_in_the_order_in_which_they_were_added) {
    held_tasks held;
    std::array<task, 5> t{};
    held.add_share(t[0], 1);
    held.add(t[1], {0, {0, 2}});
    held.add_share(t[2], 0);
    held.add_share(t[3], 1);
    EXPECT_TRUE(held.any_share());
    EXPECT_EQ(held.only_for(&t[1]), held_tasks::no_worker);
    EXPECT_EQ(held.only_for(&t[2]), 0);
    held.line_up();
    held.add_share_to_line(t[4], 0);
    EXPECT_EQ(held.take_first(0).t, &t[1]); // the one before is a share of worker 1
    EXPECT_EQ(held.take_first(0).t, &t[2]);
    EXPECT_EQ(held.take_first(0).t, &t[4]);
    EXPECT_EQ(held.take_first(0).t, nullptr);
    EXPECT_EQ(held.take_first(1).t, &t[0]);
    EXPECT_EQ(held.take_first(1).t, &t[3]);
    EXPECT_EQ(held.size(), 0U);
}

TEST(policy_hosted, wrong_answers_are_failures) {
    EXPECT_EQ(run_with(-1, "sometimes"),
              "spawn() returned an unknown word; given: sometimes; allowed: child_first, parent_first, call, "
              "lazy");
}

} // namespace
} // namespace weft::hosted
