#include "replay/read_script.hpp"

#include "policy/seam/policy.hpp"
#include "unit/made_trace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft::replay {
namespace {

using trace::kind;
using trace::made_trace;
using trace::origin;

static_assert(trace::reason_unblocked == static_cast<std::uint8_t>(ready_reason::unblocked));
static_assert(trace::reason_yielded == static_cast<std::uint8_t>(ready_reason::yielded));

script read(const made_trace& t, times from = times::measured) {
    return read_script(t.records, 2, true, false, {{1, "first"}}, from);
}

/// The actions of a task: what, and a or n, whichever is not 0.
std::vector<std::pair<act, std::uint64_t>> actions_of(const script& s, row t) {
    std::vector<std::pair<act, std::uint64_t>> all;
    for (std::uint32_t i = s.tasks[t].first; i < s.tasks[t].last; ++i)
        all.emplace_back(s.actions[i].what, s.actions[i].a ? s.actions[i].a : s.actions[i].n);
    return all;
}
using actions = std::vector<std::pair<act, std::uint64_t>>;

TEST(replay_script, a_fork_ends_at_its_join) {
    made_trace t;
    t.spawn(trace::outside, 5, 1, origin::root).begin(0, 10, 1).spawn(0, 20, 2, origin::fork);
    t.begin(0, 50, 2, trace::start::inside).end(0, 80, 2).end(0, 100, 1);
    const script s = read(t);
    EXPECT_EQ(
        actions_of(s, 0),
        (actions{
            {act::compute, 10}, {act::fork, 1}, {act::compute, 30}, {act::join, 1}, {act::compute, 20}}));
    EXPECT_EQ(actions_of(s, 1), (actions{{act::compute, 30}}));
    ASSERT_EQ(s.batches.size(), 1U);
    EXPECT_EQ(s.batches[0].ended - s.batches[0].began, 95);
    EXPECT_EQ(s.names, (std::vector<std::string>{"", "first"}));
}

/// Task 1 is suspended on worker 0; what releases it follows.
made_trace suspended() {
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1);
    t.on(0, 10, kind::suspend, 1, 0, 0, trace::reason_unblocked);
    return t;
}

TEST(replay_script, a_task_that_another_task_releases_awaits_a_signal) {
    made_trace t = suspended();
    t.on(0, 50, kind::resume, 1).end(0, 60, 1);
    t.spawn(trace::outside, 1, 2, origin::root).begin(1, 20, 2);
    t.on(1, 40, kind::ready, 1, 0, 0, trace::reason_unblocked).end(1, 50, 2);
    const script s = read(t);
    EXPECT_EQ(s.signals, 1U);
    EXPECT_EQ(actions_of(s, 0), (actions{{act::compute, 10}, {act::await, 0}, {act::compute, 10}}));
    EXPECT_EQ(actions_of(s, 1), (actions{{act::compute, 20}, {act::release, 0}, {act::compute, 10}}));
}

TEST(replay_script, a_task_that_a_timer_releases_sleeps) {
    made_trace t = suspended();
    t.on(trace::outside, 45, kind::ready, 1, 0, 0, trace::reason_unblocked);
    t.on(0, 50, kind::resume, 1).end(0, 60, 1);
    EXPECT_EQ(actions_of(read(t), 0), (actions{{act::compute, 10}, {act::sleep, 35}, {act::compute, 10}}));
}

TEST(replay_script, no_task_awaits_a_signal_that_never_comes) {
    made_trace t = suspended();
    t.on(0, 50, kind::resume, 1).end(0, 60, 1);
    // The spawn of task 2 is lost: no task of the script runs it.
    t.begin(1, 20, 2).on(1, 40, kind::ready, 1, 0, 0, trace::reason_unblocked).end(1, 50, 2);
    EXPECT_EQ(actions_of(read(t), 0), (actions{{act::compute, 10}, {act::sleep, 0}, {act::compute, 10}}));
}

TEST(replay_script, declared_times_need_a_program_that_declares_them) {
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1).end(0, 10, 1);
    EXPECT_THROW(read(t, times::declared), std::invalid_argument);
    t.records.insert(t.records.end() - 1, {.at = 5, .a = 700, .what_kind = kind::cost});
    EXPECT_EQ(actions_of(read(t, times::declared), 0), (actions{{act::cost, 700}}));
}

} // namespace
} // namespace weft::replay
