#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "engine/sanitized.hpp"
#include "engine/traced.hpp"
#include "queue/spsc_ring.hpp"
#include "trace/write/clock.hpp"
#include "trace/write/log.hpp"
#include "trace/write/recorder.hpp"

namespace weft::trace {
namespace {

TEST(spsc_ring, all_arrive_in_order_and_none_that_found_no_room) {
    using ring = queue::spsc_ring<std::uint64_t>;
    std::vector<ring::slot> slots(1024);
    ring r(slots.data(), slots.size());
    constexpr std::uint64_t count = 200'000;
    std::uint64_t expected = 0, wrong = 0;
    std::atomic<bool> ended{false};
    std::thread reader([&] {
        for (bool last = false; !last;) {
            last = ended.load(std::memory_order_acquire);
            int left = 100; // leaves some for the next time
            r.consume([&](std::uint64_t v) {
                if (--left < 0) return false;
                wrong += v != expected++;
                return true;
            });
            if (last && expected < count) last = false;
        }
    });
    for (std::uint64_t i = 0; i < count; ++i) {
        while (r.room() == 0) std::this_thread::yield();
        r.push(i);
    }
    ended.store(true, std::memory_order_release);
    reader.join();
    EXPECT_EQ(wrong, 0U);
    EXPECT_EQ(expected, count);
}

TEST(spsc_ring, room_is_what_is_left) {
    using ring = queue::spsc_ring<int>;
    ring::slot slots[8];
    ring r(slots, 8);
    for (int i = 0; i < 7; ++i) r.push(i);
    EXPECT_EQ(r.room(), 1U);
    EXPECT_EQ(r.room(2), 1U);
    r.push(7);
    EXPECT_EQ(r.room(), 0U);
    int taken = 0;
    r.consume([&](int) { return taken++ < 3; });
    EXPECT_EQ(r.room(3), 3U);
}

TEST(time_line, goes_through_all_moments_and_never_back) {
    time_line line({1'000, 500});
    line.add({4'000, 1'500});
    EXPECT_EQ(line.ns(1'000), 500);
    EXPECT_EQ(line.ns(4'000), 1'500);
    EXPECT_EQ(line.ns(2'500), 1'000);
    const std::int64_t stamped_early = line.ns(3'333);
    line.add({5'000, 3'500});
    line.add({5'000, 9'000}); // no later than the last: no line has it
    EXPECT_EQ(line.ns(3'333), stamped_early);
    EXPECT_EQ(line.ns(4'500), 2'500);
    EXPECT_EQ(line.ns(6'000), 5'500);
    for (std::uint64_t t = 0; t < 7'000; ++t) ASSERT_LE(line.ns(t), line.ns(t + 1));
}

TEST(time_line, forgets_what_is_long_ago) {
    time_line line({0, 0});
    for (std::uint64_t k = 1; k <= 1'000; ++k) line.add({k * 100, static_cast<std::int64_t>(k * k)});
    EXPECT_EQ(line.ns(100'000), 1'000'000);
    EXPECT_EQ(line.ns(90'000), 810'000);
    for (std::uint64_t t = 0; t < 101'000; t += 7) ASSERT_LE(line.ns(t), line.ns(t + 7));
}

TEST(event_clock, is_as_fast_as_the_systems) {
    const event_clock clock;
    const moment first = clock.now();
    moment last = clock.now();
    while (last.ns - first.ns < 20'000'000) last = clock.now();
    const std::uint64_t middle = clock.ticks();
    const std::int64_t ns = event_clock::system_ns();
    time_line line(first);
    line.add(clock.now());
    // Between two readings there may be as much as a thread is kept waiting, not less.
    EXPECT_LE(line.ns(middle), ns + 50'000);
}

struct numbers_for_names : testing::Test {
    names all;
};

TEST_F(numbers_for_names, are_the_same_for_the_same_text) {
    const std::string copy = "potrf";
    EXPECT_EQ(all.number(""), 0U);
    EXPECT_EQ(all.number("potrf"), 1U);
    EXPECT_EQ(all.number("trsm"), 2U);
    EXPECT_EQ(all.number(copy), 1U);
    std::vector<std::string> told;
    EXPECT_EQ(all.after(1, [&](std::uint32_t, const std::string& n, code_address) { told.push_back(n); }),
              2U);
    EXPECT_EQ(told, std::vector<std::string>{"trsm"});
}

TEST(recorder, counts_what_finds_no_room_and_says_so_in_its_place) {
    const std::string path = test::trace_path("overflow");
    constexpr std::uint64_t count = test::thread_sanitized ? 300'000 : 3'000'000;
    {
        recorder r(path, R"({"made": "by a test"})", 1);
        log& l = r.of(0);
        for (std::uint64_t i = 0; i < count; ++i) l.note(kind::cost, i); // faster than any disk
        l.make_room(1000);
        l.note(kind::cost, count);
    }
    const test::trace_read all(path);
    EXPECT_TRUE(all.is_complete);
    std::uint64_t kept = 0, missing = 0, next = 0;
    for (const record& e : all.streams.at(0)) {
        if (e.what_kind == kind::lost) {
            missing += e.a;
            next += e.a;
            continue;
        }
        ASSERT_EQ(e.a, next++);
        ++kept;
    }
    EXPECT_EQ(kept + missing, count + 1);
    EXPECT_EQ(all.lost, missing);
    std::filesystem::remove(path);
}

TEST(recorder, loses_nothing_where_time_is_virtual) {
    const std::string path = test::trace_path("virtual");
    constexpr std::uint64_t count = test::thread_sanitized ? 60'000 : 600'000;
    std::atomic<std::int64_t> now{0};
    {
        recorder r(path, "{}", 1, &now);
        for (std::uint64_t i = 0; i < count; ++i) {
            now.store(static_cast<std::int64_t>(i / 2), std::memory_order_relaxed);
            r.of(0).note(kind::cost, i);
        }
    }
    const test::trace_read all(path);
    ASSERT_EQ(all.streams.at(0).size(), count);
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(all.streams.at(0)[i].at, i / 2);
    EXPECT_EQ(all.lost, 0U);
    std::filesystem::remove(path);
}

TEST(recorder, what_threads_note_is_in_the_order_of_its_time) {
    const std::string path = test::trace_path("ordered");
    constexpr int rounds = 20'000;
    std::atomic<int> turn{0};
    {
        recorder r(path, "{}", 2);
        // Each waits for the other: an event happens after all that came before it.
        const auto play = [&](int me) {
            for (int i = me; i < rounds; i += 2) {
                for (int looks = 0; turn.load(std::memory_order_acquire) != i;)
                    if (++looks % 64 == 0) std::this_thread::yield();
                r.of(me).note(kind::cost, static_cast<std::uint64_t>(i));
                turn.store(i + 1, std::memory_order_release);
            }
        };
        std::thread other([&] { play(1); });
        play(0);
        other.join();
    }
    const test::trace_read all(path);
    ASSERT_EQ(all.lost, 0U);
    const auto& mine = all.streams.at(0);
    const auto& others = all.streams.at(1);
    // The processor may read its counter before an earlier load has its value: too early by as much as one
    // miss takes, which on a busy machine of several sockets is more than 200 ns.
    constexpr std::int64_t miss_ns = 2'000;
    for (std::size_t i = 0; i + 1 < mine.size(); ++i) {
        ASSERT_LE(mine[i].at, others[i].at + miss_ns) << i;
        ASSERT_LE(others[i].at, mine[i + 1].at + miss_ns) << i;
    }
    std::filesystem::remove(path);
}

} // namespace
} // namespace weft::trace
