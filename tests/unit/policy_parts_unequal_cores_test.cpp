// The rules of schedulers for unequal cores, without a policy around them: the vectors of the book and those that follow from
// its formulas.
#include "policy/parts/longest_first.hpp"
#include "policy/parts/thread_speed.hpp"
#include "policy/parts/utility_factor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace weft::test {
namespace {

TEST(utility_factor, of_the_book) {
    EXPECT_DOUBLE_EQ(utility_factor(2, 1, 1), 2);
    EXPECT_DOUBLE_EQ(utility_factor(2, 2, 1), 0.5);
    EXPECT_DOUBLE_EQ(utility_factor(2, 2, 2), 2);
    EXPECT_NEAR(utility_factor(2, 4, 2), 0.2222, 5e-5);
    EXPECT_NEAR(utility_factor(1.8, 8, 4), 0.072, 5e-7);
    EXPECT_NEAR(utility_factor(3, 3, 1), 0.3333, 5e-5);
    // One fast core: the application of two threads comes first only if its speedup is more than four times as large.
    EXPECT_GT(utility_factor(4.01, 2, 1), utility_factor(1, 1, 1));
    EXPECT_LT(utility_factor(3.99, 2, 1), utility_factor(1, 1, 1));
}

TEST(utility_factor, makes_classes_by_two_thresholds) {
    EXPECT_EQ(utility_class_of(0.1, 0.5, 1), utility_class::low);
    EXPECT_EQ(utility_class_of(0.5, 0.5, 1), utility_class::medium);
    EXPECT_EQ(utility_class_of(1, 0.5, 1), utility_class::medium);
    EXPECT_EQ(utility_class_of(1.1, 0.5, 1), utility_class::high);
}

std::vector<int> assigned(const std::vector<double>& left, const std::vector<double>& speeds) {
    std::vector<int> cores(left.size());
    std::vector<double> room(speeds.size());
    assign_longest_first(left, speeds, cores, room);
    return cores;
}

TEST(longest_first, algorithm_7) {
    EXPECT_EQ(assigned({10, 8, 6, 4, 2}, {2, 1, 1}), (std::vector{0, 1, 2, 0, 2}));
    EXPECT_EQ(assigned({10, 8, 3, 3}, {8, 1, 1}),
              (std::vector{0, 0, 1, 2})); // the last two by the rule for bare cores
    EXPECT_EQ(assigned({5, 3}, {4, 2, 1}), (std::vector{0, 1}));
    EXPECT_EQ(assigned({}, {4, 2, 1}), (std::vector<int>{}));
    EXPECT_EQ(assigned({3, 2, 1}, {1}), (std::vector{0, 0, 0}));
}

TEST(longest_first, leaves_no_core_bare_if_there_are_threads_enough) {
    for (std::size_t threads = 4; threads < 12; ++threads) {
        std::vector<double> left;
        for (std::size_t t = 0; t < threads; ++t) left.push_back(1000.0 / static_cast<double>(t * t + 1));
        const auto cores = assigned(left, {100, 1, 1, 1});
        for (int c = 0; c < 4; ++c) EXPECT_EQ(std::ranges::count(cores, c) > 0, true) << threads << ' ' << c;
    }
}

TEST(thread_speed, pulls_from_the_slowest_core_below_the_mean) {
    const std::array<bool, 4> none{};
    const std::array<double, 4> speeds{1, 0.5, 0.33, 0.9};
    EXPECT_EQ(core_to_pull_from(0, speeds, none), 2);
    EXPECT_EQ(core_to_pull_from(2, speeds, none), -1);
    EXPECT_EQ(core_to_pull_from(0, speeds, std::array<bool, 4>{false, false, true, false}), 1);
    EXPECT_EQ(core_to_pull_from(0, std::array<double, 4>{1, 1, 1, 1}, none), -1);
    EXPECT_DOUBLE_EQ(thread_speed(30, 100), 0.3);
    EXPECT_DOUBLE_EQ(thread_speed(30, 100, 0.5), 0.15);
}

// The book's possible speedup of 1/(2T) leaves out that M cores do no more than M.
TEST(thread_speed, the_promise_of_the_book_and_what_the_cores_can_do) {
    const double gains[] = {0.5, 0.25, 1.0 / 6};
    for (int few = 1; few <= 3; ++few) {
        const speed_analysis of{.threads = 2 * few + 1, .cores = 2};
        EXPECT_NEAR(of.promised_gain(), gains[few - 1], 1e-12);
        EXPECT_NEAR(of.promised_gain(), 1.0 / (2 * few), 1e-12);
    }
    const speed_analysis three_on_two{.threads = 3, .cores = 2};
    EXPECT_DOUBLE_EQ(three_on_two.promised(), 0.75);
    EXPECT_DOUBLE_EQ(three_on_two.attainable(), 2.0 / 3);
    EXPECT_NEAR(three_on_two.attainable_gain(), 1.0 / 3, 1e-12);
}

} // namespace
} // namespace weft::test
