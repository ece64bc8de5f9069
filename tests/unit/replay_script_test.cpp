#include "replay/read_script.hpp"

#include "policy/seam/policy.hpp"
#include "replay/play.hpp"
#include "unit/made_trace.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
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

// ---- damage

TEST(replay_script, numbers_that_are_used_as_indexes_or_sizes_are_checked) {
    using trace::record;
    constexpr std::uint64_t huge = ~std::uint64_t{0};
    const struct {
        record wrong;
        std::string says;
    } cases[] = {
        {{.a = 9, .n = 7, .what_kind = kind::spawn}, "(spawn): impossible name; given: 7"},
        {{.a = 9, .what_kind = kind::spawn, .what = 6},
         "(spawn): impossible origin; given: 6; allowed: 0 to 5"},
        {{.a = 9, .n = 7, .what_kind = kind::group}, "(group): impossible name; given: 7"},
        {{.a = 1, .n = 7, .what_kind = kind::need}, "(need): impossible name; given: 7"},
        {{.a = 1, .n = 1, .what_kind = kind::need, .what = 4}, "(need): impossible within; given: 4"},
        {{.a = 1, .n = 7, .what_kind = kind::transfer}, "(transfer): impossible name; given: 7"},
        {{.a = huge, .n = 1, .what_kind = kind::transfer}, "(transfer): impossible bytes"},
        {{.a = 8, .b = huge, .what_kind = kind::touch}, "(touch): impossible size of data"},
        {{.a = huge - 8, .b = 64, .what_kind = kind::touch}, "up to the end of the address space"},
        {{.a = 8, .b = 8, .what_kind = kind::touch, .what = 5}, "(touch): impossible access; given: 5"},
        {{.a = 8, .b = 8, .what_kind = kind::data, .what = 4}, "(data): impossible mode; given: 4"},
        {{.a = huge, .what_kind = kind::cost}, "(cost): impossible cycles"},
        {{.a = 8, .what_kind = kind::cost, .what = 4}, "(cost): impossible kind of work; given: 4"},
        {{.a = huge - 1, .what_kind = kind::iteration}, "(iteration): impossible iteration"},
        {{.a = 1, .what_kind = kind::begin, .what = 3}, "(begin): impossible start; given: 3"},
        {{.at = huge, .what_kind = kind::search}, "(search): impossible time"},
        {{.what_kind = static_cast<kind>(33)}, "unknown kind; given: 33"},
    };
    for (const auto& c : cases) {
        made_trace t;
        t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1).end(0, 10, 1);
        t.records.insert(t.records.end() - 1, c.wrong);
        try {
            read(t);
            ADD_FAILURE() << "accepted: " << c.says;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("the trace is damaged: record 2"), std::string::npos)
                << e.what();
            EXPECT_NE(std::string(e.what()).find(c.says), std::string::npos) << e.what();
        }
    }
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1).end(0, 10, 1);
    EXPECT_THROW(read_script(t.records, 2, true, false, {{0xffff'fff0, "far"}}, times::measured),
                 std::invalid_argument);
}

TEST(replay_script, ends_that_come_twice_or_too_early_end_nothing) {
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1).end(0, 10, 1).end(0, 20, 1).end(0, 30, 1);
    t.spawn(trace::outside, 40, 2, origin::root).begin(0, 40, 2).end(0, 50, 2);
    const script s = read(t);
    ASSERT_EQ(s.batches.size(), 2U);
    EXPECT_EQ(s.batches[0].ended, 10);
    EXPECT_EQ(s.batches[1].ended - s.batches[1].began, 10);
    // A run of a graph without tasks has no root. A task that comes to it later, and ends, does not end a root either.
    made_trace g;
    g.on(trace::outside, 0, kind::graph, 5, 0);
    g.spawn(trace::outside, 1, 6, origin::graph, 5).begin(0, 2, 6).end(0, 3, 6);
    EXPECT_TRUE(read(g).batches.empty());
}

TEST(replay_script, forks_that_are_nested_too_deeply_are_refused) {
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1);
    for (std::uint32_t i = 0; i <= most_nested; ++i) t.spawn(0, i, i + 2, origin::fork);
    t.end(0, 100'000, 1);
    EXPECT_THROW(read(t), std::invalid_argument);
}

/// The seconds that a script takes on one modelled core.
double play_seconds(const made_trace& t) {
    return play(read(t), false, {.machine = WEFT_SOURCE_DIR "/machines/core-i7-2600k.toml"}).seconds;
}

TEST(replay_play, groups_that_have_one_number_since_events_are_missing) {
    // Two roots spawn into the group at one address and wait for it; no `waited` says that these are two groups.
    made_trace t;
    for (std::uint32_t r = 0; r < 2; ++r) {
        const auto w = static_cast<std::uint16_t>(r);
        t.spawn(trace::outside, r, 1 + r, origin::root).begin(w, 10, 1 + r);
    }
    for (std::uint16_t w = 0; w < 2; ++w) {
        t.spawn(w, 20, 3 + w, origin::child, 0x1000)
            .begin(w, 21, 3 + w, trace::start::below)
            .end(w, 5000, 3 + w);
        t.on(w, 5001, kind::wait, 1 + w, 0x1000);
    }
    for (std::uint16_t w = 0; w < 2; ++w) t.end(w, 6000, 1 + w);
    EXPECT_GT(play_seconds(t), 0);
}

TEST(replay_play, forks_that_are_nested_as_deeply_as_allowed) {
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1);
    for (std::uint32_t i = 0; i < most_nested; ++i) t.spawn(0, i, i + 2, origin::fork);
    t.end(0, 100'000, 1);
    const script s = read(t);
    EXPECT_GT(
        play(s, false, {.machine = WEFT_SOURCE_DIR "/machines/core-i7-2600k.toml", .stack_bytes = 16 << 20})
            .seconds,
        0);
}

TEST(replay_play, what_an_action_throws_comes_out_when_all_has_ended) {
    // A child of a group asks for a disk that the machine does not have, and gives no signal; its sibling awaits one.
    made_trace t;
    t.spawn(trace::outside, 0, 1, origin::root).begin(0, 0, 1);
    t.spawn(0, 1, 2, origin::child, 0x1000).spawn(0, 2, 3, origin::child, 0x1000);
    t.begin(1, 3, 2).on(1, 4, kind::suspend, 2, 0, 0, trace::reason_unblocked);
    t.begin(0, 5, 3, trace::start::below).on(0, 6, kind::transfer, 100, 0, 1);
    t.on(0, 7, kind::ready, 2, 0, 0, trace::reason_unblocked).end(0, 8, 3);
    t.on(1, 9, kind::resume, 2).end(1, 10, 2);
    t.on(0, 11, kind::wait, 1, 0x1000).on(0, 12, kind::waited, 1, 0x1000).end(0, 13, 1);
    const script s = read_script(t.records, 2, true, true, {{1, "no such disk"}}, times::measured);
    try {
        play(s, true, {.machine = WEFT_SOURCE_DIR "/machines/core-i7-2600k.toml"});
        ADD_FAILURE() << "nothing was thrown";
    } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find("no such disk"), std::string::npos) << e.what();
    }
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
