#include "trace/walk/walk.hpp"

#include "unit/made_trace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace weft::trace {
namespace {

using rows = std::vector<std::tuple<int, std::uint32_t, std::int64_t, std::int64_t>>;

rows segments_of(const tables& t) {
    rows all;
    for (std::size_t i = 0; i < t.segments.task.size(); ++i)
        all.emplace_back(t.segments.worker[i], t.segments.task[i], t.segments.begin[i], t.segments.end[i]);
    return all;
}

/// A root, 1, forks 2. Worker 1 steals 2.
made_trace stolen_fork() {
    made_trace t;
    t.spawn(outside, 0, 1, origin::root).begin(0, 0, 1).spawn(0, 10, 2, origin::fork);
    t.on(0, 20, kind::expose, 2, 0, 1).on(0, 100, kind::waited, 1, 0, 2).end(0, 110, 1);
    t.begin(1, 30, 2).end(1, 90, 2);
    return t;
}

TEST(trace_walk, a_worker_runs_the_top_of_its_stack) {
    made_trace t;
    t.spawn(0, 0, 1, origin::root).begin(0, 0, 1);
    t.spawn(0, 10, 2, origin::child, 7).begin(0, 10, 2, start::below).end(0, 30, 2).end(0, 40, 1);
    const tables r = walk(t.records, 1, true);
    EXPECT_EQ(segments_of(r), (rows{{0, 1, 0, 10}, {0, 2, 10, 30}, {0, 1, 30, 40}}));
    EXPECT_EQ(r.tasks.own, (std::vector<std::int64_t>{20, 20}));
    EXPECT_EQ(r.tasks.parent, (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(std::tuple(r.first, r.last, r.disorder), std::tuple(0, 40, 0U));
}

TEST(trace_walk, an_effect_waits_for_its_cause) {
    made_trace t; // the clock of worker 1 is 5 ns behind
    t.spawn(0, 10, 1, origin::root).begin(1, 5, 1).end(1, 20, 1);
    const tables r = walk(t.records, 2, true);
    EXPECT_EQ(r.order, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(r.tasks.began, (std::vector<std::int64_t>{10}));
    EXPECT_EQ(r.disorder, 0U);
}

TEST(trace_walk, an_effect_whose_cause_is_lost_is_counted) {
    made_trace t;
    t.begin(0, 5, 1).end(0, 20, 1);
    const tables r = walk(t.records, 1, true);
    EXPECT_EQ(r.disorder, 1U);
    EXPECT_EQ(r.tasks.own, (std::vector<std::int64_t>{15}));
}

TEST(trace_walk, the_longest_path_goes_through_the_longer_closure) {
    const tables r = walk(stolen_fork().records, 2, true);
    EXPECT_EQ(r.tasks.own, (std::vector<std::int64_t>{110, 60}));
    EXPECT_EQ(r.span, 110);
    EXPECT_EQ(r.critical.task, (std::vector<row>{0}));

    made_trace slow; // the stolen closure takes longer: 10 in the root to the fork, 80, and 10 after the join
    slow.spawn(outside, 0, 1, origin::root).begin(0, 0, 1).spawn(0, 10, 2, origin::fork);
    slow.on(0, 20, kind::expose, 2, 0, 1).on(0, 30, kind::suspend, 1).on(0, 110, kind::resume, 1);
    slow.on(0, 110, kind::waited, 1, 0, 2).end(0, 120, 1);
    slow.begin(1, 30, 2).end(1, 110, 2);
    const tables s = walk(slow.records, 2, true);
    EXPECT_EQ(s.span, 10 + 80 + 10);
    EXPECT_EQ(s.critical.task, (std::vector<row>{0, 1, 0}));
    EXPECT_EQ(s.critical.end, (std::vector<std::int64_t>{10, 90, 100}));
}

TEST(trace_walk, a_suspended_stack_continues_on_another_worker) {
    made_trace t;
    t.spawn(0, 0, 1, origin::root).begin(0, 0, 1);
    t.spawn(0, 10, 2, origin::child, 7).begin(0, 10, 2, start::below).on(0, 20, kind::suspend, 2);
    t.on(1, 20, kind::resume, 2).end(1, 30, 2).end(1, 40, 1);
    const tables r = walk(t.records, 2, true);
    EXPECT_EQ(segments_of(r), (rows{{0, 1, 0, 10}, {0, 2, 10, 20}, {1, 2, 20, 30}, {1, 1, 30, 40}}));
}

TEST(trace_walk, own_times_are_unknown_where_events_are_lost) {
    made_trace t;
    t.spawn(0, 0, 1, origin::root).begin(0, 0, 1).on(0, 50, kind::lost, 3);
    t.spawn(0, 60, 2, origin::root).begin(0, 60, 2).end(0, 70, 2);
    const tables r = walk(t.records, 1, true);
    EXPECT_EQ(r.tasks.own, (std::vector<std::int64_t>{unknown, 10}));
}

TEST(trace_walk, a_worker_that_sleeps_does_not_search) {
    made_trace t;
    t.on(0, 0, kind::search).on(0, 10, kind::sleep).on(0, 30, kind::wake).on(0, 35, kind::found);
    const tables r = walk(t.records, 1, true);
    EXPECT_EQ(r.idle.asleep, (std::vector<std::uint8_t>{0, 1, 0}));
    EXPECT_EQ(r.idle.begin, (std::vector<std::int64_t>{0, 10, 30}));
    EXPECT_EQ(r.idle.end, (std::vector<std::int64_t>{10, 30, 35}));
}

} // namespace
} // namespace weft::trace
