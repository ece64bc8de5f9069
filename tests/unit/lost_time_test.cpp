// Where the time of a run went: how the busy time of a worker is divided by the kernel's counts, and when a reader is
// told of time that was lost. Figures are fed in; no clock decides anything here.
#include "engine/observe/busy_parts.hpp"
#include "engine/observe/lost_time.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace weft::engine {
namespace {

constexpr time_ns ms = 1'000'000;

kernel_count counted(time_ns cpu, std::optional<time_ns> queued, time_ns queued_asleep = 0,
                     std::uint64_t sleeps = 0) {
    return {cpu, queued, queued_asleep, sleeps};
}

void expect_parts(const busy_parts& p, time_ns on_core, std::optional<time_ns> waiting, time_ns blocked,
                  time_ns uncertain) {
    EXPECT_EQ(p.on_core, on_core);
    EXPECT_EQ(p.waiting, waiting);
    EXPECT_EQ(p.blocked, blocked);
    EXPECT_EQ(p.uncertain, uncertain);
}

TEST(busy_parts, of_a_worker_that_has_its_core) {
    expect_parts(divide({100 * ms, 20 * ms}, counted(120 * ms, 0)), 100 * ms, 0, 0, 0);
}

TEST(busy_parts, of_a_worker_that_is_busy_all_the_time) {
    // 100 ms of work; 40 on a core, 10 in the queue of one: the task was blocked for the rest.
    expect_parts(divide({100 * ms, 0}, counted(40 * ms, 10 * ms)), 40 * ms, 10 * ms, 50 * ms, 0);
}

TEST(busy_parts, blocked_does_not_depend_on_what_the_search_had) {
    // 200 awake, 90 on a core, 50 in a queue. How much of either the search had is unknown, but not that 60 were blocked.
    const busy_parts p = divide({160 * ms, 40 * ms}, counted(90 * ms, 50 * ms));
    EXPECT_EQ(p.blocked, 60 * ms);
    // In the queue while busy: from 10 (all that the search had was in the queue) to 50; half of it by proportion is 40.
    EXPECT_EQ(p.waiting, 40 * ms);
    EXPECT_EQ(p.on_core, 60 * ms);
    EXPECT_EQ(p.uncertain, 30 * ms);
}

TEST(busy_parts, the_end_of_its_own_sleep_is_not_counted_again) {
    // It slept a thousand times and waited 30 ms for its core each time in all: that is in `asleep`.
    const busy_parts p = divide({100 * ms, 0}, counted(60 * ms, 30 * ms, 30 * ms, 1000));
    expect_parts(p, 60 * ms, 0, 40 * ms, 1000 * cost_of_a_sleep);
    // Without that distinction the same counts would say 10.
    EXPECT_EQ(divide({100 * ms, 0}, counted(60 * ms, 30 * ms)).blocked, 10 * ms);
}

TEST(busy_parts, counts_that_do_not_fit_are_uncertain) {
    expect_parts(divide({10 * ms, 0}, counted(15 * ms, 0)), 10 * ms, 0, 0, 5 * ms);
    expect_parts(divide({10 * ms, 0}, counted(8 * ms, 6 * ms)), 8 * ms, 2 * ms, 0, 4 * ms);
    expect_parts(divide({0, 0}, counted(8 * ms, 6 * ms)), 0, 0, 0, 0);
}

TEST(busy_parts, a_wait_that_is_not_over_is_uncertain) {
    // It may have lost its core 7 ms ago: then they are missing in `queued`, and seem to be blocked.
    kernel_count now = counted(60 * ms, 0), before = counted(20 * ms, 0);
    now.open_wait = 7 * ms;
    before.open_wait = 1 * ms;
    const busy_parts p = divide({50 * ms, 0}, now.since(before));
    expect_parts(p, 40 * ms, 0, 10 * ms, 8 * ms);
}

TEST(busy_parts, where_the_kernel_counts_no_queue_waiting_is_unknown) {
    expect_parts(divide({100 * ms, 0}, counted(40 * ms, std::nullopt)), 40 * ms, std::nullopt, 60 * ms, 0);
    const busy_parts p = divide({100 * ms, 50 * ms}, counted(40 * ms, std::nullopt));
    expect_parts(p, 0, std::nullopt, 100 * ms, 50 * ms); // from 60 to 100
}

TEST(busy_parts, add_up_to_the_busy_time) {
    std::random_device entropy;
    const auto seed = entropy();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto up_to = [&](time_ns most) { return std::uniform_int_distribution<time_ns>(0, most)(random); };
    for (int i = 0; i < 20'000; ++i) {
        const awake_time t{up_to(100), up_to(100)};
        const kernel_count k = counted(up_to(250), up_to(2) == 0 ? std::nullopt : std::optional(up_to(250)),
                                       up_to(100), static_cast<std::uint64_t>(up_to(1)));
        const busy_parts p = divide(t, k);
        ASSERT_EQ(p.busy(), t.busy);
        ASSERT_GE(p.on_core, 0);
        ASSERT_GE(p.waiting.value_or(0), 0);
        ASSERT_GE(p.blocked, 0);
        ASSERT_GE(p.uncertain, 0);
        ASSERT_LE(p.uncertain, t.busy);
        ASSERT_EQ(p.waiting.has_value(), k.queued.has_value());
        // Counts that fit are met exactly, but for what is unknown: whether the search or the work was in the queue.
        const time_ns awake = t.busy + t.search;
        if (k.queued && k.sleeps == 0 && k.cpu + *k.queued <= awake && k.queued_asleep == 0 &&
            awake - k.cpu - *k.queued <= t.busy) {
            ASSERT_EQ(p.blocked, awake - k.cpu - *k.queued);
            ASSERT_LE(*p.waiting, *k.queued);
            ASSERT_LE(p.on_core, k.cpu);
        }
    }
}

TEST(busy_parts, of_several_workers) {
    busy_parts sum{.waiting = 0};
    sum.add({.on_core = 1, .waiting = 2, .blocked = 3, .uncertain = 4});
    sum.add({.on_core = 10, .waiting = 20, .blocked = 30, .uncertain = 40});
    expect_parts(sum, 11, 22, 33, 44);
    sum.add({.on_core = 100, .waiting = std::nullopt, .blocked = 300, .uncertain = 0});
    expect_parts(sum, 111, std::nullopt, 355, 44);
}

// ---- notes

/// Four workers on four cores, in one second of which 2 % were outside of runs, and that had their cores.
run_figures healthy() {
    return {.workers = 4,
            .cores = 4,
            .span = 1000 * ms,
            .in_runs = 980 * ms,
            .outside = 20 * ms,
            .outside_cpu = 20 * ms,
            .idle = 200 * ms,
            .blocked = 40 * ms,
            .blocked_uncertain = 5 * ms,
            .cpu = 3800 * ms,
            .queued = 60 * ms};
}

std::string only(const std::vector<std::string>& notes) {
    EXPECT_EQ(notes.size(), 1U);
    return notes.empty() ? "" : notes.front();
}

bool says(const std::string& note, const std::string& what) { return note.find(what) != std::string::npos; }

TEST(notes, a_healthy_program_gets_none) { EXPECT_EQ(notes_on(healthy()), std::vector<std::string>{}); }

TEST(notes, nothing_is_said_of_a_moment) {
    run_figures f = healthy();
    f.span = least_span_of_notes - 1;
    f.outside = f.span;
    f.idle = f.in_runs * 4;
    EXPECT_TRUE(notes_on(f).empty());
    f.span = least_span_of_notes;
    EXPECT_FALSE(notes_on(f).empty());
}

TEST(notes, on_time_outside_of_runs) {
    run_figures f = healthy();
    f.outside = f.outside_cpu = 99 * ms;
    EXPECT_TRUE(notes_on(f).empty());
    f.outside = f.outside_cpu = 380 * ms;
    const std::string note = only(notes_on(f));
    EXPECT_TRUE(says(note, "38 % of the time was outside of runs")) << note;
    EXPECT_TRUE(says(note, "calling thread alone")) << note;
    f.outside_cpu = 10 * ms;
    EXPECT_TRUE(says(only(notes_on(f)), "had a core for 3 % of that time"));
}

TEST(notes, on_cores_that_others_had) {
    run_figures f = healthy();
    f.cpu = 3000 * ms;
    f.queued = 333 * ms;
    EXPECT_TRUE(notes_on(f).empty());
    f.queued = 900 * ms;
    const std::string note = only(notes_on(f));
    EXPECT_TRUE(says(note, "did not get 23 % of the time in which they were ready to run")) << note;
    EXPECT_TRUE(says(note, "other programs used the cores")) << note;
    f.other_cpu = 800 * ms;
    EXPECT_TRUE(says(only(notes_on(f)), "threads of this program that are no workers"));
    f.cpu =
        2000 * ms; // a thread of the program worked beside them, but 1.1 cores were left to other programs
    EXPECT_TRUE(says(only(notes_on(f)), "other programs used the cores"));
    f.cpu = 3000 * ms;
    f.in_runs = 5000 * ms;
    EXPECT_TRUE(notes_on(f).empty()) << "the workers had little to do";
    f.in_runs = 980 * ms;
    f.cores = 1;
    EXPECT_TRUE(says(only(notes_on(f)), "there are 4 workers for 1 core:"));
    f.queued = std::nullopt;
    EXPECT_TRUE(notes_on(f).empty()) << "it is unknown";
}

TEST(notes, on_tasks_that_are_blocked) {
    run_figures f = healthy();
    f.blocked = 390 * ms;
    EXPECT_TRUE(notes_on(f).empty());
    f.blocked = 1568 * ms;
    const std::string note = only(notes_on(f));
    EXPECT_TRUE(says(note, "blocked in the kernel for 40 % of the workers' time")) << note;
    EXPECT_TRUE(says(note, "weft::mutex") && says(note, "weft::this_task::sleep_for")) << note;
    EXPECT_FALSE(says(note, "disk")) << note;
    f.pages_read = 17; // they took a few ms
    EXPECT_FALSE(says(only(notes_on(f)), "disk"));
    f.pages_read = 1700;
    EXPECT_TRUE(says(only(notes_on(f)), "1700 pages were read from a disk"));
    f.blocked_uncertain = 1500 * ms;
    EXPECT_TRUE(notes_on(f).empty()) << "it may be little";
    f.blocked_uncertain = 0;
    f.queued = std::nullopt;
    EXPECT_TRUE(notes_on(f).empty()) << "the workers may have waited for cores";
}

TEST(notes, on_workers_without_work) {
    run_figures f = healthy();
    f.idle = 1764 * ms;
    EXPECT_TRUE(says(only(notes_on(f)), "had no work for 45 % of their time in runs"));
    f.all_active = false;
    EXPECT_TRUE(notes_on(f).empty()) << "the program wanted it so";
}

TEST(notes, are_few_and_the_greatest_loss_comes_first) {
    run_figures f = healthy();
    f.in_runs = 500 * ms;
    f.outside = f.outside_cpu = 500 * ms; // 2000 ms of four workers
    f.idle = 1000 * ms;
    f.blocked = 900 * ms;
    f.cpu = 1000 * ms;
    f.queued = 200 * ms;
    const auto notes = notes_on(f);
    ASSERT_EQ(notes.size(), most_notes);
    EXPECT_TRUE(says(notes[0], "outside of runs"));
    EXPECT_TRUE(says(notes[1], "no work"));
    EXPECT_TRUE(says(notes[2], "blocked"));
}

} // namespace
} // namespace weft::engine
