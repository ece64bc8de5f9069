// The THE deque, one thread at a time: both ends, growth, memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "queue/cache_line.hpp"
#include "queue/the_deque.hpp"

namespace weft::queue {
namespace {

// Counts what is held and fails when told to.
struct counted_memory {
    static inline std::size_t held = 0;
    static inline bool exhausted = false;
    static void* allocate(std::size_t bytes) noexcept {
        if (exhausted) return nullptr;
        held += bytes;
        return std::malloc(bytes);
    }
    static void release(void* at, std::size_t bytes) noexcept {
        held -= bytes;
        std::free(at);
    }
};

using deque = the_deque<int*>;
using counted = the_deque<int*, std_sync, counted_memory>;

TEST(the_deque, pops_the_nearest_and_steals_the_furthest) {
    int items[4];
    deque tasks;
    EXPECT_EQ(tasks.pop(), nullptr);
    EXPECT_EQ(tasks.steal(), nullptr);
    for (int& each : items) tasks.push(&each);
    EXPECT_EQ(tasks.size(), 4u);
    EXPECT_EQ(tasks.pop(), &items[3]);
    EXPECT_EQ(tasks.steal(), &items[0]);
    EXPECT_EQ(tasks.steal(), &items[1]);
    EXPECT_FALSE(tasks.empty());
    EXPECT_EQ(tasks.pop(), &items[2]);
    EXPECT_EQ(tasks.pop(), nullptr);
    EXPECT_TRUE(tasks.empty());
    tasks.push(&items[0]);
    EXPECT_EQ(tasks.steal(), &items[0]);
    EXPECT_EQ(tasks.steal(), nullptr);
    EXPECT_EQ(tasks.pop(), nullptr);
}

// The migration queue of ADWS: a worker migrates tasks to it one after the other. Their new worker begins
// with the first of them, and the descendants of that task go before the others.
TEST(the_deque, what_was_passed_first_is_run_first_and_its_descendants_before_the_rest) {
    int passed[3], descendants[2];
    deque tasks;
    for (int& each : passed) tasks.push_far(&each);
    EXPECT_EQ(tasks.size(), 3u);
    EXPECT_EQ(tasks.pop(), &passed[0]);
    for (int& each : descendants) tasks.push(&each);
    EXPECT_EQ(tasks.pop(), &descendants[1]);
    EXPECT_EQ(tasks.pop(), &descendants[0]);
    EXPECT_EQ(tasks.pop(), &passed[1]);
    EXPECT_EQ(tasks.pop(), &passed[2]);
    EXPECT_TRUE(tasks.empty());
}

TEST(the_deque, a_thief_takes_what_was_passed_last) {
    int passed[3], own[2];
    deque tasks;
    for (int& each : own) tasks.push(&each);
    for (int& each : passed) tasks.push_far(&each);
    EXPECT_EQ(tasks.steal(), &passed[2]);
    EXPECT_EQ(tasks.pop(), &own[1]);
    EXPECT_EQ(tasks.steal(), &passed[1]);
    EXPECT_EQ(tasks.steal(), &passed[0]);
    EXPECT_EQ(tasks.steal(), &own[0]);
    EXPECT_EQ(tasks.steal(), nullptr);
}

TEST(the_deque, both_parts_grow_by_doubling_and_keep_the_order) {
    std::vector<int> own(1000), passed(1000);
    deque tasks(1);
    EXPECT_EQ(tasks.capacity(), 1u);
    // Off the start of the rings, so that growth has to unwrap them.
    for (int at = 0; at < 3; ++at) {
        tasks.push(&own[0]);
        EXPECT_EQ(tasks.steal(), &own[0]);
        tasks.push_far(&passed[0]);
        EXPECT_EQ(tasks.pop(), &passed[0]);
    }
    EXPECT_EQ(tasks.capacity(), 1u);
    for (int& each : own) tasks.push(&each);
    for (int& each : passed) tasks.push_far(&each);
    EXPECT_EQ(tasks.capacity(), 1024u);
    EXPECT_EQ(tasks.size(), 2000u);
    for (std::size_t at = 1000; at > 500; --at) ASSERT_EQ(tasks.steal(), &passed[at - 1]);
    for (std::size_t at = 1000; at > 0; --at) ASSERT_EQ(tasks.pop(), &own[at - 1]);
    for (std::size_t at = 0; at < 500; ++at) ASSERT_EQ(tasks.pop(), &passed[at]);
    EXPECT_TRUE(tasks.empty());
}

// I6 of the_deque.hpp.
TEST(the_deque, does_not_grow_while_there_is_room) {
    int item = 0;
    deque tasks(4);
    for (int round = 0; round < 1000; ++round) {
        for (int at = 0; at < 4; ++at) tasks.push(&item);
        for (int at = 0; at < 2; ++at) ASSERT_EQ(tasks.steal(), &item);
        for (int at = 0; at < 2; ++at) ASSERT_EQ(tasks.pop(), &item);
    }
    EXPECT_EQ(tasks.capacity(), 4u);
}

TEST(the_deque, a_ring_left_behind_goes_at_once) {
    int item = 0;
    {
        counted tasks(2);
        EXPECT_EQ(counted_memory::held, 2 * sizeof(int*));
        for (int at = 0; at < 5000; ++at) tasks.push(&item);
        EXPECT_EQ(counted_memory::held, 8192 * sizeof(int*));
        for (int at = 0; at < 5000; ++at) tasks.push_far(&item);
        EXPECT_EQ(counted_memory::held, 2 * 8192 * sizeof(int*));
    }
    EXPECT_EQ(counted_memory::held, 0u);
}

TEST(the_deque, without_memory_a_push_throws_and_nothing_is_lost) {
    int items[6];
    counted tasks(4);
    for (int at = 1; at < 5; ++at) tasks.push(&items[at]);
    counted_memory::exhausted = true;
    EXPECT_THROW(tasks.push(&items[5]), std::bad_alloc);
    EXPECT_THROW(tasks.push_far(&items[0]), std::bad_alloc);
    EXPECT_THROW(counted(4), std::bad_alloc);
    EXPECT_EQ(tasks.size(), 4u);
    EXPECT_EQ(tasks.capacity(), 4u);
    EXPECT_EQ(tasks.pop(), &items[4]);
    tasks.push(&items[4]);
    counted_memory::exhausted = false;
    tasks.push(&items[5]);
    tasks.push_far(&items[0]);
    for (int& each : items) EXPECT_EQ(tasks.steal(), &each);
}

TEST(the_deque, refuses_a_capacity_that_cannot_be) {
    EXPECT_THROW(deque(std::size_t{1} << 62), std::bad_alloc);
    EXPECT_EQ(deque(0).capacity(), 1u);
    EXPECT_EQ(deque(3).capacity(), 4u);
}

TEST(the_deque, keeps_the_words_of_owner_and_thieves_apart) {
    EXPECT_EQ(alignof(deque), k_cache_line_bytes);
    EXPECT_GE(sizeof(deque), 2 * k_cache_line_bytes);
}

} // namespace
} // namespace weft::queue
