// The worker set, one thread at a time, with ranges that begin and end inside of words.
#include <gtest/gtest.h>

#include <vector>

#include "queue/worker_set.hpp"

namespace weft::queue {
namespace {

using set = worker_set<>;

std::vector<std::uint32_t> ids(const set& from) {
    std::vector<std::uint32_t> found;
    from.for_each([&](std::uint32_t id) { found.push_back(id); });
    return found;
}

TEST(worker_set, says_what_changed) {
    set workers(200);
    EXPECT_TRUE(workers.empty());
    EXPECT_EQ(workers.capacity(), 200u);
    for (const std::uint32_t id : {0u, 63u, 64u, 199u}) {
        EXPECT_FALSE(workers.contains(id));
        EXPECT_FALSE(workers.erase(id));
        EXPECT_TRUE(workers.insert(id));
        EXPECT_FALSE(workers.insert(id));
        EXPECT_TRUE(workers.contains(id));
    }
    EXPECT_EQ(ids(workers), (std::vector<std::uint32_t>{0, 63, 64, 199}));
    EXPECT_EQ(workers.count(), 4u);
    EXPECT_TRUE(workers.erase(63));
    EXPECT_FALSE(workers.contains(63));
    EXPECT_EQ(ids(workers), (std::vector<std::uint32_t>{0, 64, 199}));
}

// I1 of worker_set.hpp.
TEST(worker_set, ranges_are_half_open_wherever_they_begin_and_end) {
    for (const std::uint32_t id : {0u, 1u, 62u, 63u, 64u, 65u, 127u, 128u, 129u}) {
        set workers(130);
        workers.insert(id);
        for (std::uint32_t first = 0; first <= 130; ++first) {
            for (std::uint32_t last = first; last <= 130; ++last) {
                ASSERT_EQ(workers.any_in(first, last), first <= id && id < last)
                    << id << " " << first << " " << last;
            }
        }
    }
}

TEST(worker_set, takes_from_the_start_upwards_then_from_the_first) {
    set workers(300);
    for (const std::uint32_t id : {5u, 70u, 71u, 130u, 299u}) workers.insert(id);
    EXPECT_EQ(workers.take_one_in(6, 200, 71), 71u);
    EXPECT_EQ(workers.take_one_in(6, 200, 71), 130u);
    EXPECT_EQ(workers.take_one_in(6, 200, 71), 70u);
    EXPECT_EQ(workers.take_one_in(6, 200, 71), std::nullopt);
    EXPECT_EQ(ids(workers), (std::vector<std::uint32_t>{5, 299}));
    // A start outside of the range counts as its first.
    EXPECT_EQ(workers.take_one_in(0, 300, 300), 5u);
    EXPECT_EQ(workers.take_one_in(0, 300, 7), 299u);
    EXPECT_EQ(workers.take_one_in(0, 300, 7), std::nullopt);
    EXPECT_EQ(workers.take_one_in(4, 4, 4), std::nullopt);
}

TEST(worker_set, a_full_set_gives_each_id_once) {
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{128}}) {
        const auto last = static_cast<std::uint32_t>(capacity);
        set workers(capacity);
        for (std::uint32_t id = 0; id < last; ++id) workers.insert(id);
        EXPECT_EQ(workers.count(), capacity);
        std::vector<int> seen(capacity);
        while (const auto id = workers.take_one_in(0, last, last / 2)) ++seen[*id];
        EXPECT_EQ(seen, std::vector<int>(capacity, 1));
        EXPECT_TRUE(workers.empty());
    }
}

TEST(worker_set, may_be_of_no_worker) {
    set workers(0);
    EXPECT_TRUE(workers.empty());
    EXPECT_EQ(workers.take_one_in(0, 0, 0), std::nullopt);
}

} // namespace
} // namespace weft::queue
