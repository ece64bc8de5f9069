// The Chase-Lev deque, one thread at a time: ends, growth, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "queue/cache_line.hpp"
#include "queue/chase_lev_deque.hpp"

namespace weft::queue {
namespace {

// Counts what is held and fails when told to.
struct counted_memory {
    static inline std::size_t held = 0;
    static inline std::size_t most = 0;
    static inline bool exhausted = false;
    static void* allocate(std::size_t bytes) noexcept {
        if (exhausted) return nullptr;
        held += bytes;
        most = std::max(most, held);
        return std::malloc(bytes);
    }
    static void release(void* at, std::size_t bytes) noexcept {
        held -= bytes;
        std::free(at);
    }
};

using deque = chase_lev_deque<int*>;

TEST(chase_lev_deque, pops_the_youngest_and_steals_the_oldest) {
    int items[4];
    deque tasks;
    EXPECT_EQ(tasks.pop(), nullptr);
    EXPECT_EQ(tasks.pop_top(), nullptr);
    int* got = nullptr;
    EXPECT_EQ(tasks.steal(got), steal_result::empty);
    EXPECT_EQ(got, nullptr);
    for (int& each : items) tasks.push(&each);
    EXPECT_EQ(tasks.size(), 4u);
    EXPECT_EQ(tasks.pop(), &items[3]);
    EXPECT_EQ(tasks.steal(got), steal_result::ok);
    EXPECT_EQ(got, &items[0]);
    EXPECT_EQ(tasks.pop_top(), &items[1]);
    EXPECT_FALSE(tasks.empty());
    EXPECT_EQ(tasks.pop(), &items[2]);
    EXPECT_EQ(tasks.pop(), nullptr);
    EXPECT_TRUE(tasks.empty());
    tasks.push(&items[0]);
    EXPECT_EQ(tasks.steal(got), steal_result::ok);
    EXPECT_EQ(tasks.steal(got), steal_result::empty);
}

TEST(chase_lev_deque, grows_by_doubling_and_keeps_the_order) {
    std::vector<int> items(1000);
    deque tasks(1);
    EXPECT_EQ(tasks.capacity(), 1u);
    int* got = nullptr;
    // Off the start of the ring, so that growth has to unwrap it.
    for (int at = 0; at < 3; ++at) {
        tasks.push(&items[0]);
        EXPECT_EQ(tasks.pop_top(), &items[0]);
    }
    EXPECT_EQ(tasks.capacity(), 1u);
    for (int& each : items) tasks.push(&each);
    EXPECT_EQ(tasks.capacity(), 1024u);
    for (std::size_t at = 0; at < 500; ++at) {
        ASSERT_EQ(tasks.steal(got), steal_result::ok);
        ASSERT_EQ(got, &items[at]);
    }
    for (std::size_t at = 1000; at > 500; --at) ASSERT_EQ(tasks.pop(), &items[at - 1]);
    EXPECT_TRUE(tasks.empty());
}

// I5 of chase_lev_deque.hpp.
TEST(chase_lev_deque, does_not_grow_while_there_is_room) {
    int item = 0;
    deque tasks(4);
    int* got = nullptr;
    for (int round = 0; round < 1000; ++round) {
        for (int at = 0; at < 4; ++at) tasks.push(&item);
        for (int at = 0; at < 2; ++at) ASSERT_EQ(tasks.steal(got), steal_result::ok);
        ASSERT_EQ(tasks.pop(), &item);
        ASSERT_EQ(tasks.pop_top(), &item);
    }
    EXPECT_EQ(tasks.capacity(), 4u);
}

TEST(chase_lev_deque, rings_left_behind_are_smaller_than_the_last_and_freed_at_the_end) {
    using counted = chase_lev_deque<int*, std_sync, counted_memory>;
    int item = 0;
    {
        counted tasks(2);
        for (int at = 0; at < 5000; ++at) tasks.push(&item);
        EXPECT_EQ(tasks.capacity(), 8192u);
        EXPECT_LT(counted_memory::held, 2 * 8192 * sizeof(int*) + 16 * 64);
    }
    EXPECT_EQ(counted_memory::held, 0u);
}

TEST(chase_lev_deque, without_memory_push_throws_and_nothing_is_lost) {
    using counted = chase_lev_deque<int*, std_sync, counted_memory>;
    int items[5];
    counted tasks(4);
    for (int at = 0; at < 4; ++at) tasks.push(&items[at]);
    counted_memory::exhausted = true;
    EXPECT_THROW(tasks.push(&items[4]), std::bad_alloc);
    EXPECT_THROW(counted(4), std::bad_alloc);
    EXPECT_EQ(tasks.size(), 4u);
    EXPECT_EQ(tasks.capacity(), 4u);
    EXPECT_EQ(tasks.pop(), &items[3]);
    tasks.push(&items[3]);
    counted_memory::exhausted = false;
    tasks.push(&items[4]);
    for (int at = 0; at < 5; ++at) EXPECT_EQ(tasks.pop_top(), &items[at]);
}

TEST(chase_lev_deque, refuses_a_capacity_that_cannot_be) {
    EXPECT_THROW(deque(std::size_t{1} << 62), std::bad_alloc);
}

TEST(chase_lev_deque, capacity_is_rounded_up) {
    EXPECT_EQ(deque(0).capacity(), 1u);
    EXPECT_EQ(deque(3).capacity(), 4u);
    EXPECT_EQ(deque().capacity(), deque::k_initial_capacity);
}

TEST(chase_lev_deque, keeps_the_words_of_owner_and_thieves_apart) {
    EXPECT_EQ(alignof(deque), k_cache_line_bytes);
    EXPECT_GE(sizeof(deque), 2 * k_cache_line_bytes);
}

} // namespace
} // namespace weft::queue
