// Which task waits for which, by the accesses that tasks declare.
#include "graph/data_versions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace weft {
namespace {

using impl::data_mode;

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

/// The tasks that `t` waits for, in ascending order.
std::vector<std::uint32_t> waits(data_versions& of, std::uint32_t datum, data_mode mode, std::uint32_t t) {
    std::vector<std::uint32_t> all;
    of.access(datum, mode, t, [&](std::uint32_t u) { all.push_back(u); });
    std::ranges::sort(all);
    return all;
}

using tasks = std::vector<std::uint32_t>;

TEST(data_versions, each_address_is_one_datum) {
    data_versions v;
    std::set<std::uint32_t> numbers;
    std::vector<std::uintptr_t> addresses;
    for (std::uintptr_t a = 4096; a < 4096 + 300; ++a) addresses.push_back(a); // bytes beside each other
    for (int bits = 9; bits < 40; ++bits)                                      // blocks at equal distances
        for (std::uintptr_t i = 1; i < 200; ++i) addresses.push_back((i * 2 + 1) << bits);
    for (const std::uintptr_t a : addresses) numbers.insert(v.find(at(a), nullptr));
    std::ranges::sort(addresses);
    const auto distinct = std::ranges::unique(addresses).begin() - addresses.begin();
    EXPECT_EQ(numbers.size(), static_cast<std::size_t>(distinct));
    EXPECT_EQ(*numbers.begin(), 1);
    EXPECT_EQ(*numbers.rbegin(), numbers.size());
    const std::uint32_t first = v.find(at(4096), nullptr);
    EXPECT_EQ(first, 1);
    EXPECT_NE(v.find(at(4097), nullptr), first);
    EXPECT_EQ(v.find(at(4097), nullptr), 2);
}

TEST(data_versions, a_datum_without_an_address_keeps_its_number) {
    data_versions v;
    std::uint32_t mine = 0, other = 0;
    EXPECT_EQ(v.find(nullptr, &mine), 1);
    EXPECT_EQ(v.find(nullptr, &other), 2);
    EXPECT_EQ(v.find(nullptr, &mine), 1);
    EXPECT_EQ(v.find(at(64), nullptr), 3);
}

TEST(data_versions, writers_follow_each_other_and_their_readers) {
    data_versions v;
    const std::uint32_t d = v.find(at(64), nullptr);
    EXPECT_EQ(waits(v, d, data_mode::read, 0), tasks());
    EXPECT_EQ(waits(v, d, data_mode::write, 1), tasks({0}));
    EXPECT_EQ(waits(v, d, data_mode::write, 2), tasks({1}));
    EXPECT_EQ(waits(v, d, data_mode::read, 3), tasks({2}));
    EXPECT_EQ(waits(v, d, data_mode::read, 4), tasks({2}));
    EXPECT_EQ(waits(v, d, data_mode::write, 4), tasks({3})); // not for itself
    EXPECT_EQ(waits(v, d, data_mode::read, 5), tasks({4}));
}

TEST(data_versions, concurrent_writers_wait_for_the_same) {
    data_versions v;
    const std::uint32_t d = v.find(at(64), nullptr);
    EXPECT_EQ(waits(v, d, data_mode::write, 0), tasks());
    EXPECT_EQ(waits(v, d, data_mode::concurrent, 1), tasks({0}));
    EXPECT_EQ(waits(v, d, data_mode::concurrent, 2), tasks({0}));
    EXPECT_EQ(waits(v, d, data_mode::concurrent, 3), tasks({0}));
    EXPECT_EQ(waits(v, d, data_mode::read, 4), tasks({1, 2, 3}));
    EXPECT_EQ(waits(v, d, data_mode::concurrent, 5), tasks({4})); // after a reader, a new generation
    EXPECT_EQ(waits(v, d, data_mode::concurrent, 6), tasks({4}));
    EXPECT_EQ(waits(v, d, data_mode::commutative, 7), tasks({5, 6}));
    EXPECT_EQ(waits(v, d, data_mode::commutative, 8), tasks({5, 6}));
    EXPECT_EQ(waits(v, d, data_mode::write, 9), tasks({7, 8}));
}

TEST(data_versions, links_are_used_again) {
    data_versions v;
    const std::uint32_t a = v.find(at(64), nullptr), b = v.find(at(68), nullptr);
    for (std::uint32_t t = 0; t < 3000; t += 6) {
        EXPECT_EQ(waits(v, a, data_mode::concurrent, t).size(), t == 0 ? 0u : 1u);
        EXPECT_EQ(waits(v, a, data_mode::concurrent, t + 1).size(), t == 0 ? 0u : 1u);
        EXPECT_EQ(waits(v, b, data_mode::read, t + 2), t == 0 ? tasks() : tasks({t - 1}));
        EXPECT_EQ(waits(v, b, data_mode::read, t + 3), t == 0 ? tasks() : tasks({t - 1}));
        EXPECT_EQ(waits(v, a, data_mode::write, t + 4), tasks({t, t + 1}));
        EXPECT_EQ(waits(v, b, data_mode::write, t + 5), tasks({t + 2, t + 3}));
    }
}

} // namespace
} // namespace weft
