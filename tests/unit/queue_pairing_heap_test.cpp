// The pairing heap against std::set: random pushes and pops, many equal keys, first in first out among them
// by a number of their own.
#include "queue/pairing_heap.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace weft::queue {
namespace {

struct item {
    int key = 0, number = 0;
    list_hook queue_link{};
};
struct before {
    bool operator()(const item& a, const item& b) const {
        return std::pair(a.key, a.number) < std::pair(b.key, b.number);
    }
};

TEST(pairing_heap, gives_the_first_of_what_is_in_it) {
    const char* const given = std::getenv("WEFT_TEST_SEED");
    const auto seed = given ? std::stoul(given) : std::random_device{}();
    SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(static_cast<std::uint32_t>(seed));
    for (int round = 0; round < 50; ++round) {
        std::deque<item> items;
        pairing_heap<item, before> heap;
        std::set<std::pair<int, int>> expected;
        const auto pushes = 1 + random() % 9, keys = 1 + random() % 20;
        for (int step = 0; step < 2000; ++step) {
            if (random() % 10 < pushes) {
                item& i = items.emplace_back();
                i.key = static_cast<int>(random() % keys);
                i.number = step;
                heap.push(&i);
                expected.emplace(i.key, i.number);
            } else if (item* const i = heap.pop()) {
                ASSERT_EQ(std::pair(i->key, i->number), *expected.begin());
                expected.erase(expected.begin());
            } else {
                ASSERT_TRUE(expected.empty());
            }
            ASSERT_EQ(heap.size(), expected.size());
            ASSERT_EQ(heap.empty(), expected.empty());
        }
        while (item* const i = heap.pop()) {
            ASSERT_EQ(std::pair(i->key, i->number), *expected.begin());
            expected.erase(expected.begin());
        }
        ASSERT_TRUE(expected.empty());
    }
}

// I1 and I2 of pairing_heap.hpp.
TEST(pairing_heap, many_in_falling_and_rising_order) {
    for (const int direction : {1, -1}) {
        std::deque<item> items;
        pairing_heap<item, before> heap;
        constexpr int many = 100'000;
        for (int i = 0; i < many; ++i) {
            items.emplace_back().key = direction * i;
            heap.push(&items.back());
        }
        int last = -many - 1;
        for (int i = 0; i < many; ++i) {
            item* const next = heap.pop();
            ASSERT_NE(next, nullptr);
            ASSERT_GT(next->key, last);
            last = next->key;
        }
        EXPECT_EQ(heap.pop(), nullptr);
    }
}

} // namespace
} // namespace weft::queue
