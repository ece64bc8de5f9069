// When a program borrows a core and when it gives it back, tick by tick; and what the words of its file say.
#include "share/borrowing.hpp"
#include "share/lending_layout.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

namespace weft::share {
namespace {

// ---- the record of a core

constexpr std::int64_t lender = 7;

TEST(lent_records, a_core_is_borrowed_when_it_was_lent_at_two_ticks_without_a_break) {
    lent_record r;
    r.see(lender, 1);
    EXPECT_FALSE(r.is_steady());
    r.see(lender, 1);
    EXPECT_TRUE(r.is_steady());
    r.see(lender, 2); // it was taken back and lent anew in between
    EXPECT_FALSE(r.is_steady());
    r.see(lender, 2);
    EXPECT_TRUE(r.is_steady());
    r.see(0, 0);
    EXPECT_FALSE(r.is_steady());
}

/// How many ticks a core must have been lent until it is borrowed.
int ticks_until_steady(lent_record r, std::uint64_t generation) {
    for (int tick = 1;; ++tick) {
        r.see(lender, generation);
        if (r.is_steady()) return tick;
    }
}

TEST(lent_records, the_more_often_a_core_was_taken_back_the_longer_it_must_have_been_lent) {
    lent_record r;
    std::uint64_t generation = 1;
    EXPECT_EQ(ticks_until_steady(r, generation), 2);
    for (const int expected : {3, 5, 9, 17, 33, 65, 129, 257, 257}) {
        r.was_lost();
        EXPECT_EQ(ticks_until_steady(r, ++generation), expected);
    }
}

TEST(lent_records, use_without_a_break_makes_the_wait_shorter_again) {
    lent_record r;
    for (int i = 0; i < 3; ++i) r.was_lost();
    EXPECT_EQ(ticks_until_steady(r, 1), 9);
    for (int i = 0; i < 8; ++i) r.was_of_use();
    EXPECT_EQ(ticks_until_steady(r, 2), 5);
    for (int i = 0; i < 4 + 2; ++i) r.was_of_use();
    EXPECT_EQ(ticks_until_steady(r, 3), 2);
    for (int i = 0; i < 100; ++i) r.was_of_use();
    EXPECT_EQ(ticks_until_steady(r, 4), 2) << "it never needs less than two looks";
}

// ---- how many cores are wanted

TEST(appetites, while_all_workers_work_it_takes_as_many_again_as_it_has) {
    appetite a;
    EXPECT_EQ(a.want({.idle_homes = 0, .guests = 0, .idle_guests = 0}), 1);
    EXPECT_EQ(a.want({.idle_homes = 0, .guests = 1, .idle_guests = 0}), 2);
    EXPECT_EQ(a.want({.idle_homes = 0, .guests = 2, .idle_guests = 0}), 4);
}

TEST(appetites, an_idle_worker_at_home_wants_no_core) {
    appetite a;
    EXPECT_EQ(a.want({.idle_homes = 1, .guests = 0, .idle_guests = 0}), 0);
    EXPECT_EQ(a.want({.idle_homes = 1, .guests = 3, .idle_guests = 0}), 3) << "those that work stay";
}

TEST(appetites, a_guest_without_work_goes) {
    appetite a;
    EXPECT_EQ(a.want({.idle_homes = 0, .guests = 4, .idle_guests = 3}), 1);
    EXPECT_EQ(a.want({.idle_homes = 1, .guests = 1, .idle_guests = 1}), 0);
}

TEST(appetites, tries_without_success_become_rare) {
    appetite a;
    int last = 0, ticks = 0;
    for (const int pause : {1, 2, 4, 8, 16, 32, 64, 64}) {
        for (ticks = 0; a.want({.guests = 0}) == 0; ++ticks) {}
        EXPECT_EQ(ticks, last) << "before the try";
        EXPECT_EQ(a.want({.guests = 1, .idle_guests = 1}), 0);
        last = pause - 1;
    }
}

TEST(appetites, a_try_with_success_makes_the_next_ones_frequent) {
    appetite a;
    for (int i = 0; i < 6; ++i) {
        while (a.want({.guests = 0}) == 0) {}
        a.want({.guests = 1, .idle_guests = 1});
    }
    int ticks = 0;
    while (a.want({.guests = 0}) == 0) ++ticks;
    EXPECT_GT(ticks, 8);
    EXPECT_EQ(a.want({.guests = 1, .idle_guests = 0}), 2) << "it has found work";
    a.want({.guests = 2, .idle_guests = 2});
    for (ticks = 0; a.want({.guests = 0}) == 0;) ++ticks;
    EXPECT_LE(ticks, 1);
}

// ---- words

TEST(lending_words, what_is_packed_is_unpacked) {
    for (const int cpu : {0, 1, 63, most_cpus - 1})
        for (const std::uint64_t generation :
             {std::uint64_t{0}, std::uint64_t{1}, (std::uint64_t{1} << 40) - 1})
            for (const bool lent : {false, true}) {
                const home_word w{.cpu = cpu, .is_lent = lent, .generation = generation};
                EXPECT_EQ(home_of(pack(w)), w);
            }
    const claim_word c{.cpu = 1023, .lender = most_pid, .generation = (1 << 20) - 1};
    EXPECT_EQ(claim_of(pack(c)), c);
    EXPECT_EQ(home_of(0), home_word{}) << "a new file says nothing";
    EXPECT_EQ(claim_of(0), claim_word{});
    EXPECT_EQ(pack(claim_word{}), 0u);
}

TEST(lending_words, whatever_a_word_is_the_core_is_one_that_there_can_be) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 10000; ++i) {
        const std::uint64_t word = random();
        for (const int cpu : {home_of(word).cpu, claim_of(word).cpu}) {
            EXPECT_GE(cpu, -1);
            EXPECT_LT(cpu, most_cpus);
        }
    }
}

TEST(lending_words, a_head_is_read_or_refused) {
    const lending_head h{.workers = 3, .guests = 5, .pid = 42, .start = 1000, .name = "solver"};
    lending_head read;
    std::string why;
    ASSERT_TRUE(read_head(head_of(h), read, why)) << why;
    EXPECT_EQ(read.workers, 3);
    EXPECT_EQ(read.guests, 5);
    EXPECT_EQ(read.pid, 42);
    EXPECT_EQ(read.start, 1000);
    EXPECT_EQ(read.name, "solver");
    EXPECT_FALSE(read_head(head_of({.workers = 0, .pid = 1}), read, why));
    EXPECT_FALSE(read_head(head_of({.workers = 1, .guests = -1, .pid = 1}), read, why));
    EXPECT_FALSE(read_head(head_of({.workers = 1, .pid = 0}), read, why));
    EXPECT_FALSE(read_head({}, read, why));
    ASSERT_TRUE(read_head(head_of({.workers = 1, .pid = 1, .name = std::string(100, 'x')}), read, why));
    EXPECT_EQ(read.name, std::string(most_name, 'x'));
}

} // namespace
} // namespace weft::share
