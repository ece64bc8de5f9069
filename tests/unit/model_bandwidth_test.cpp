// Max-min fair sharing against cases that were computed by hand.
#include "engine/model/shared_bandwidth.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <random>
#include <vector>

namespace weft::engine {
namespace {

using use = shared_bandwidth::use;
constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Lets everything end; the time of each end.
std::map<int, time_ns> run(shared_bandwidth& b) {
    std::map<int, time_ns> ends;
    while (!b.empty()) {
        const time_ns at = b.next_end();
        if (at == end_of_time) break;
        b.advance(at, [&](int who) { ends[who] = at; });
    }
    return ends;
}

TEST(shared_bandwidth, one_transfer_has_its_own_speed_or_that_of_the_resource) {
    shared_bandwidth b({10});
    b.begin(0, 0, 200, 1000, std::array{use{0, 1000}}); // 5 GB/s: less than there is
    EXPECT_EQ(run(b)[0], 200);
    b.begin(1, 200, 50, 1000, std::array{use{0, 1000}}); // 20 GB/s: twice of what there is
    EXPECT_EQ(run(b)[1], 300);
}

TEST(shared_bandwidth, equals_share_evenly_and_the_last_one_has_it_all) {
    shared_bandwidth b({10});
    for (int i = 0; i < 2; ++i) b.begin(i, 0, 100, 1000, std::array{use{0, 1000}});
    EXPECT_DOUBLE_EQ(b.speed_of(0), 0.5);
    b.begin(2, 50, 100, 1000, std::array{use{0, 1000}}); // by then the others have moved 250 of 1000 each
    EXPECT_NEAR(b.speed_of(2), 1.0 / 3, 1e-9);
    const auto ends = run(b);
    EXPECT_EQ(ends.at(0), 50 + 750 * 3 / 10);
    EXPECT_EQ(ends.at(2), 275 + 250 / 10);
}

TEST(shared_bandwidth, what_a_slow_one_leaves_is_for_the_others) {
    shared_bandwidth b({12});
    b.begin(0, 0, 500, 1000, std::array{use{0, 1000}}); // 2 GB/s
    b.begin(1, 0, 100, 1000, std::array{use{0, 1000}}); // 10
    b.begin(2, 0, 100, 1000, std::array{use{0, 1000}});
    EXPECT_DOUBLE_EQ(b.speed_of(0), 1);
    EXPECT_NEAR(b.speed_of(1), 0.5, 1e-9);
    EXPECT_NEAR(b.speed_of(2), 0.5, 1e-9);
}

TEST(shared_bandwidth, the_three_transfers_of_the_textbook) {
    // Bertsekas and Gallager's chain of links: one transfer over both links, one over each; 1 and 2 GB/s.
    shared_bandwidth b({1, 2});
    b.begin(0, 0, 1, 100, std::array{use{0, 100}, use{1, 100}});
    b.begin(1, 0, 1, 100, std::array{use{0, 100}});
    b.begin(2, 0, 1, 100, std::array{use{1, 100}});
    EXPECT_NEAR(b.speed_of(0) * 100, 0.5, 1e-9);
    EXPECT_NEAR(b.speed_of(1) * 100, 0.5, 1e-9);
    EXPECT_NEAR(b.speed_of(2) * 100, 1.5, 1e-9);
}

TEST(shared_bandwidth, a_part_of_the_bytes_uses_a_part_of_the_resource) {
    shared_bandwidth b({10, unlimited});
    b.begin(0, 0, 50, 1000, std::array{use{0, 250}, use{1, 750}}); // 5 of its 20 GB/s
    EXPECT_DOUBLE_EQ(b.speed_of(0), 1);
    b.begin(1, 0, 50, 1000, std::array{use{0, 1000}});
    // Both rates grow to 8 GB/s: a quarter of 8 and all of 8 are 10.
    EXPECT_NEAR(b.speed_of(0), 0.4, 1e-9);
    EXPECT_NEAR(b.speed_of(1), 0.4, 1e-9);
}

TEST(shared_bandwidth, a_capacity_that_changes) {
    shared_bandwidth b({10});
    b.begin(0, 0, 100, 1000, std::array{use{0, 1000}});
    b.set_capacity(0, 5, 50);
    EXPECT_EQ(run(b)[0], 150);
    b.begin(1, 150, 100, 1000, std::array{use{0, 1000}});
    b.set_capacity(0, 0, 160);
    EXPECT_EQ(b.next_end(), end_of_time);
    b.set_capacity(0, 10, 1000);
    EXPECT_EQ(run(b)[1], 1000 + 950 / 10);
}

TEST(shared_bandwidth, is_max_min_fair_for_random_transfers) {
    // No resource is exceeded. Each transfer that is slowed down uses a resource that is used up and in which
    // no other transfer has more: that is the definition of max-min fairness.
    for (unsigned seed = 1; seed <= 300; ++seed) {
        std::mt19937 random(seed);
        const auto between = [&](double a, double z) { return std::uniform_real_distribution(a, z)(random); };
        std::vector<double> capacities;
        for (unsigned r = 0; r < 1 + random() % 4; ++r) capacities.push_back(between(1, 20));
        shared_bandwidth b(capacities);
        struct one {
            double rate;
            std::vector<use> of;
        };
        std::vector<one> all;
        for (int i = 0; i < static_cast<int>(1 + random() % 8); ++i) {
            std::vector<use> of;
            for (int r = 0; r < static_cast<int>(capacities.size()); ++r)
                if (random() % 2) of.push_back({r, 100});
            const double least = between(5, 100);
            b.begin(i, 0, least, 100, of);
            all.push_back({100 / least, of});
        }
        std::vector<double> used(capacities.size());
        const auto rate = [&](std::size_t i) { return all[i].rate * b.speed_of(static_cast<int>(i)); };
        for (std::size_t i = 0; i < all.size(); ++i)
            for (const use& u : all[i].of) used[static_cast<std::size_t>(u.resource)] += rate(i);
        for (std::size_t r = 0; r < used.size(); ++r)
            ASSERT_LE(used[r], capacities[r] * (1 + 1e-6)) << "seed " << seed;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (b.speed_of(static_cast<int>(i)) > 1 - 1e-9) continue;
            const bool has_bottleneck = std::any_of(all[i].of.begin(), all[i].of.end(), [&](const use& u) {
                const auto r = static_cast<std::size_t>(u.resource);
                if (used[r] < capacities[r] * (1 - 1e-6)) return false;
                for (std::size_t j = 0; j < all.size(); ++j)
                    for (const use& v : all[j].of)
                        if (v.resource == u.resource && rate(j) > rate(i) * (1 + 1e-6)) return false;
                return true;
            });
            ASSERT_TRUE(has_bottleneck) << "seed " << seed << ", transfer " << i;
        }
    }
}

} // namespace
} // namespace weft::engine
