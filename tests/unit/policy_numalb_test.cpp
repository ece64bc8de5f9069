// The balance of NUMALB: the factors of equation (4.3), the cost of (4.4), heaviest first.
#include "policy/numa_balance.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// Two nodes of one core, F = 1.5 between them; A 10, B 6, C 5; messages AB 4, AC 1, BC 2; A and B were on
/// node 0, C on node 1. A stays (-2.5 against 5), B goes over (9 against 4), C stays (12 against 5.5).
TEST(numa_balance, vector_of_three_tasks) {
    const numa_factors f{2, {1, 1.5, 1.5, 1}};
    const std::vector<double> load{10, 6, 5};
    const std::vector<int> node_of_core{0, 1};
    const std::vector<std::pair<std::pair<unsigned, unsigned>, double>> edges{
        {{0, 1}, 4}, {{0, 2}, 1}, {{1, 2}, 2}};
    std::vector<int> core{0, 0, 1};
    numa_scratch room{std::vector<std::uint32_t>(3), std::vector<double>(2), std::vector<double>(2)};
    numa_balance(load, core, node_of_core, f, 1.0, room, [&](std::uint32_t t, auto&& each) {
        for (const auto& [pair, count] : edges) {
            if (pair.first == t) each(pair.second, count);
            if (pair.second == t) each(pair.first, count);
        }
    });
    EXPECT_EQ(core, (std::vector<int>{0, 1, 1}));
    EXPECT_EQ(room.on_core, (std::vector<double>{10, 11}));
}

TEST(numa_balance, without_messages_the_heaviest_go_to_the_emptiest) {
    const numa_factors f{1, {1}};
    const std::vector<double> load{1, 5, 3, 3};
    const std::vector<int> node_of_core{0, 0};
    std::vector<int> core{0, 0, 0, 0};
    numa_scratch room{std::vector<std::uint32_t>(4), std::vector<double>(2), std::vector<double>(1)};
    numa_balance(load, core, node_of_core, f, 1.0, room, [](std::uint32_t, auto&&) {});
    EXPECT_EQ(core, (std::vector<int>{0, 0, 1, 1})); // 5 + 1 and 3 + 3
}

} // namespace
} // namespace weft
