// Algorithm 8 (Chen & Guo 2017, 5.5) by its worked numbers, and against the enumeration that the book prints; the bound of
// Theorem 5.1; the preference lists of table 5.5.
#include "policy/parts/optimal_cut.hpp"
#include "policy/parts/preference_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

namespace weft {
namespace {

using table = std::vector<std::vector<double>>; // by row and group

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct division {
    std::vector<int> ends;
    double makespan = 0;
};

division cut(const table& times, const std::vector<int>& cores) {
    optimal_cut cuts;
    cuts.attach(static_cast<int>(times.size()), static_cast<int>(cores.size()));
    const auto ends = cuts.find(
        static_cast<int>(times.size()), [&](int row, int group) { return times[at(row)][at(group)]; },
        [&](int group) { return cores[at(group)]; });
    return {{ends.begin(), ends.end()}, cuts.makespan()};
}

std::vector<double> spans(const table& times, const std::vector<int>& cores, const std::vector<int>& ends) {
    std::vector<double> of;
    for (int g = 0, row = 0; g < static_cast<int>(cores.size()); ++g) {
        double sum = 0;
        for (; row < ends[at(g)]; ++row) sum += times[at(row)][at(g)];
        of.push_back(sum / cores[at(g)]);
    }
    return of;
}

/// Algorithm 8 as it is printed, with sums in the same order: every vector of cuts, ties overwrite.
struct enumeration {
    const table& times;
    const std::vector<int>& cores;
    std::vector<int> best{};
    double least = std::numeric_limits<double>::infinity();
    long visited = 0;

    void run() {
        std::vector<int> ends;
        extend(ends);
    }
    void extend(std::vector<int>& ends) {
        const int rows = static_cast<int>(times.size()), groups = static_cast<int>(cores.size());
        if (static_cast<int>(ends.size()) == groups - 1) {
            ends.push_back(rows);
            ++visited;
            const std::vector<double> of = spans(times, cores, ends);
            if (const double longest = *std::max_element(of.begin(), of.end()); longest <= least) {
                least = longest;
                best = ends;
            }
            ends.pop_back();
            return;
        }
        const int from = ends.empty() ? 0 : ends.back();
        const int left = groups - 1 - static_cast<int>(ends.size());
        for (int to = from + 1; to <= rows - left; ++to) {
            ends.push_back(to);
            extend(ends);
            ends.pop_back();
        }
    }
};

TEST(optimal_cut, the_longest_of_four_tasks_goes_to_the_fast_core) {
    const table times = {{10, 20}, {4, 8}, {3, 6}, {2, 4}};
    const std::vector<int> cores = {1, 3};
    const division best = cut(times, cores);
    EXPECT_EQ(best.ends, (std::vector<int>{1, 4}));
    EXPECT_EQ(spans(times, cores, best.ends), (std::vector<double>{10, 6}));
    EXPECT_EQ(best.makespan, 10);
    EXPECT_EQ(spans(times, cores, {2, 4}), (std::vector<double>{14, 10.0 / 3}));
    EXPECT_EQ(spans(times, cores, {3, 4}), (std::vector<double>{17, 4.0 / 3}));
}

TEST(optimal_cut, four_classes_on_eight_fast_and_eight_slow_cores) {
    struct vector {
        int each, first_slow;
        double fast, slow, bound;
    };
    constexpr std::array<double, 4> work = {10, 5, 1, 0.2};
    constexpr double slower = 3.125;
    const std::vector<int> cores = {8, 8};
    for (const vector v : {vector{2, 3, 4, 9.53125, 5.34},
                           {4, 3, 8, 9.0625, 8.26},
                           {8, 2, 15, 11.25, 14.09},
                           {20, 2, 37.5, 13.125, 31.59},
                           {40, 2, 75, 16.25, 60.76}}) {
        table times;
        double all = 0;
        for (std::size_t i = 0; i < work.size(); ++i) {
            const double sum = work[i] * (i < 3 ? v.each : 128 - 3 * v.each);
            times.push_back({sum, sum * slower});
            all += sum;
        }
        const division best = cut(times, cores);
        EXPECT_EQ(best.ends, (std::vector<int>{v.first_slow, 4})) << v.each;
        const std::vector<double> of = spans(times, cores, best.ends);
        EXPECT_DOUBLE_EQ(of[0], v.fast) << v.each;
        EXPECT_NEAR(of[1], v.slow, 1e-9) << v.each;
        std::vector<double> speeds(8, 1.0);
        speeds.insert(speeds.end(), 8, 1 / slower);
        EXPECT_NEAR(least_makespan(all, 0, speeds), v.bound, 0.005) << v.each;
        EXPECT_GE(best.makespan, least_makespan(all, 0, speeds)) << v.each;
    }
}

TEST(optimal_cut, three_groups) {
    const table times = {{8, 16, 32}, {10, 20, 40}, {6, 12, 24}, {4, 8, 16}};
    const std::vector<int> cores = {1, 2, 1};
    const division best = cut(times, cores);
    EXPECT_EQ(best.ends, (std::vector<int>{1, 3, 4}));
    EXPECT_EQ(spans(times, cores, best.ends), (std::vector<double>{8, 16, 16}));
    const auto longest = [&](std::vector<int> ends) {
        const std::vector<double> of = spans(times, cores, ends);
        return *std::max_element(of.begin(), of.end());
    };
    EXPECT_EQ(longest({1, 2, 4}), 40);
    EXPECT_EQ(longest({2, 3, 4}), 18);
}

TEST(optimal_cut, classes_have_fewer_divisions_than_tasks) {
    const std::vector<int> cores = {2, 2, 2, 10};
    const auto divisions = [&](std::size_t rows) {
        const table times(rows, std::vector<double>(4, 1));
        enumeration all{times, cores};
        all.run();
        EXPECT_EQ(all.best, cut(times, cores).ends) << rows;
        return all.visited;
    };
    EXPECT_EQ(divisions(10), 84);
    EXPECT_EQ(divisions(200), 1'293'699);
}

TEST(optimal_cut, of_equally_good_divisions_the_last) {
    // The first group can take one, two or three rows without being the longest.
    const table times = {{1, 9}, {1, 1}, {1, 1}, {9, 9}};
    const std::vector<int> cores = {1, 1};
    EXPECT_EQ(cut(times, cores).ends, (std::vector<int>{3, 4}));
}

TEST(optimal_cut, too_few_rows_leave_the_slowest_groups_empty) {
    EXPECT_EQ(cut({{3, 4, 5}}, {1, 1, 1}).ends, (std::vector<int>{1, 1, 1}));
    EXPECT_EQ(cut({{3, 4, 5}, {2, 3, 4}}, {1, 1, 1}).ends, (std::vector<int>{1, 2, 2}));
    optimal_cut cuts;
    cuts.attach(4, 2);
    const auto none = cuts.find(0, [](int, int) { return 1.0; }, [](int) { return 1; });
    EXPECT_EQ(none[0] + none[1], 0);
}

TEST(optimal_cut, finds_what_enumeration_finds) {
    std::mt19937 random(1);
    const auto draw = [&](int from, int to) { return std::uniform_int_distribution(from, to)(random); };
    for (int round = 0; round < 2000; ++round) {
        const int groups = draw(1, 4), rows = draw(groups, 9);
        table times;
        std::vector<int> cores;
        for (int g = 0; g < groups; ++g) cores.push_back(draw(1, 4));
        for (int r = 0; r < rows; ++r) { // small numbers, so that there are ties
            times.emplace_back();
            for (int g = 0; g < groups; ++g) times.back().push_back(draw(0, 6));
        }
        enumeration all{times, cores};
        all.run();
        const division best = cut(times, cores);
        ASSERT_DOUBLE_EQ(best.makespan, all.least) << round;
        ASSERT_EQ(best.ends, all.best) << round;
    }
}

TEST(optimal_cut, no_schedule_is_shorter_than_the_bound) {
    constexpr std::array<double, 4> speeds = {1, 0.5, 0.5, 0.5};
    EXPECT_DOUBLE_EQ(least_makespan(10, 4, speeds), 4) << "4 is the most of the work that one core gets";
    EXPECT_DOUBLE_EQ(least_makespan(10, 1, speeds), 4);
    EXPECT_DOUBLE_EQ(least_makespan(10, 8, speeds), 8) << "a single task is not divided";
}

TEST(preference_list, helps_the_weaker_first) {
    const auto list = [](int own, int groups) {
        std::vector<int> of;
        for (int n = 0; n < groups; ++n) of.push_back(preferred_group(own, groups, n) + 1);
        return of;
    };
    using order = std::vector<int>;
    EXPECT_EQ(list(0, 3), (order{1, 2, 3})) << "table 5.5";
    EXPECT_EQ(list(1, 3), (order{2, 3, 1}));
    EXPECT_EQ(list(2, 3), (order{3, 2, 1}));
    EXPECT_EQ(list(1, 4), (order{2, 3, 4, 1}));
    EXPECT_EQ(list(2, 4), (order{3, 4, 2, 1}));
    EXPECT_EQ(list(0, 1), (order{1}));
}

} // namespace
} // namespace weft
