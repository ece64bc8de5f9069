// Loops over ranges, and over two and three indices.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

class ranges : public testing::TestWithParam<test::setup> {
protected:
    /// Runs `loop(counts)` and expects that it has added 1 to each count.
    void expect_each_once(std::size_t n, auto&& loop) {
        std::vector<std::atomic<std::uint8_t>> ran(n);
        rt_.run([&] { loop(ran); });
        EXPECT_EQ(std::ranges::count_if(ran, [](const auto& r) { return r.load() != 1; }), 0);
    }
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, ranges,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(ranges, elements_of_containers_and_views) {
    std::vector<int> v(3000);
    std::deque<int> d(500);
    std::array<int, 40> a{};
    rt_.run([&] {
        parallel_for(v, [](int& x) { ++x; });
        parallel_for(std::span(v).first(1000), [](int& x) { ++x; }, {.grain = 10});
        parallel_for(d, [](int& x) { ++x; });
        parallel_for(a, [](auto& x) { ++x; }, {.grain = 1});
        parallel_for(v | std::views::drop(2000) | std::views::reverse, [](int& x) { x += 4; });
        parallel_for(std::vector<int>(), [](int) { ADD_FAILURE(); });
    });
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(v[i], i < 1000 ? 2 : i < 2000 ? 1 : 5) << i;
    EXPECT_EQ(std::ranges::count(d, 1), 500);
    EXPECT_EQ(std::ranges::count(a, 1), 40);
}

TEST_P(ranges, views_of_numbers) {
    expect_each_once(2000, [](auto& ran) {
        parallel_for(std::views::iota(std::size_t{0}, std::size_t{2000}), [&](std::size_t i) { ++ran[i]; });
    });
    expect_each_once(2000, [](auto& ran) {
        parallel_for(std::views::iota(-1000, 1000) | std::views::transform([](int i) { return i + 1000; }),
                     [&](int i) { ++ran[static_cast<std::size_t>(i)]; });
    });
    expect_each_once(1000, [](auto& ran) { // an iterator whose difference is wider than std::ptrdiff_t
        parallel_for(std::views::iota(0LL, 1000LL), [&](long long i) { ++ran[static_cast<std::size_t>(i)]; });
    });
}

TEST_P(ranges, pieces_of_a_range) {
    std::vector<int> v(1000);
    std::atomic<std::size_t> longest{0};
    rt_.run([&] {
        parallel_for_range(v,
                           [&](auto begin, auto end) {
                               for (auto& x : std::ranges::subrange(begin, end)) ++x;
                               const auto n = static_cast<std::size_t>(end - begin);
                               for (auto seen = longest.load();
                                    seen < n && !longest.compare_exchange_weak(seen, n);) {}
                           },
                           {.grain = 30});
    });
    EXPECT_EQ(std::ranges::count(v, 1), 1000);
    EXPECT_LE(longest.load(), 30u);
}

TEST_P(ranges, reductions) {
    std::vector<std::string> words;
    std::string in_order;
    for (int i = 0; i < 400; ++i) in_order += words.emplace_back(std::to_string(i) + " ");
    const auto copy = [](const std::string& s) { return s; };
    rt_.run([&] {
        EXPECT_EQ(parallel_reduce(words, std::string(), copy, std::plus<>(), {.grain = 7}), in_order);
        // A vector as the identity of a reduction over a vector of the same type.
        using strings = std::vector<std::string>;
        const auto append = [](strings a, const strings& b) {
            a.insert(a.end(), b.begin(), b.end());
            return a;
        };
        EXPECT_EQ(parallel_reduce(words, strings(), [](const auto& s) { return strings{s}; }, append), words);
        EXPECT_EQ(parallel_reduce(std::views::iota(1, 101), 0, [](int i) { return i; }, std::plus<>()), 5050);
        EXPECT_EQ(parallel_reduce(strings(), 7, [](const auto&) { return 1; }, std::plus<>()), 7);
        // The body of oneTBB's functional form.
        const auto fold = [&](int begin, int end, std::string so_far) {
            for (int i = begin; i < end; ++i) so_far += words[static_cast<std::size_t>(i)];
            return so_far;
        };
        EXPECT_EQ(parallel_reduce_range(0, 400, std::string(), fold, std::plus<>(), {.grain = 9}), in_order);
        EXPECT_EQ(parallel_reduce_range(3, 3, std::string("none"), fold, std::plus<>()), "none");
    });
}

TEST_P(ranges, each_cell_once) {
    for (const int rows : {0, 1, 2, 7, 50})
        for (const int columns : {0, 1, 3, 64}) {
            const auto n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
            const auto at = [&](int i, int j) { return static_cast<std::size_t>(i * columns + j); };
            expect_each_once(n, [&](auto& ran) {
                parallel_for(range2d(rows, columns), [&](int i, int j) { ++ran[at(i, j)]; });
            });
            expect_each_once(n, [&](auto& ran) {
                parallel_for(range2d(rows, columns).with_grains({4, 16}),
                             [&](int i, int j) { ++ran[at(i, j)]; });
            });
            expect_each_once(n, [&](auto& ran) {
                parallel_for(range2d(-2, rows - 2, 100, 100 + columns),
                             [&](int i, int j) { ++ran[at(i + 2, j - 100)]; }, {.grain = 11});
            });
        }
    expect_each_once(5 * 6 * 7, [](auto& ran) {
        parallel_for(range3d(5, 6, 7),
                     [&](auto i, auto j, auto k) { ++ran[static_cast<std::size_t>((i * 6 + j) * 7 + k)]; });
    });
    expect_each_once(5 * 6 * 7, [](auto& ran) {
        parallel_for(range3d(1, 6, 1, 7, 1, 8).with_grains({2, 2, 2}), [&](auto i, auto j, auto k) {
            ++ran[static_cast<std::size_t>(((i - 1) * 6 + j - 1) * 7 + k - 1)];
        });
    });
}

TEST_P(ranges, blocks_are_within_the_grains) {
    constexpr int rows = 37, columns = 91;
    for (const std::size_t grain : {0, 20}) {
        std::atomic<int> wrong{0};
        expect_each_once(rows * columns, [&](auto& ran) {
            parallel_for_range(range2d(rows, columns).with_grains({5, 12}),
                               [&](const block<int, 2>& piece) {
                                   if (piece.size(0) > 5 || piece.size(1) > 12 || piece.empty()) ++wrong;
                                   if (grain && piece.size() > static_cast<std::ptrdiff_t>(grain)) ++wrong;
                                   for (int i = piece.begin(0); i < piece.end(0); ++i)
                                       for (int j = piece.begin(1); j < piece.end(1); ++j)
                                           ++ran[static_cast<std::size_t>(i * columns + j)];
                               },
                               {.grain = grain});
        });
        EXPECT_EQ(wrong.load(), 0);
    }
}

TEST_P(ranges, reductions_over_cells) {
    rt_.run([&] {
        const auto product = [](long i, long j) { return i * j; };
        EXPECT_EQ(parallel_reduce(range2d(40L, 30L), 0L, product, std::plus<>()), 780 * 435);
        EXPECT_EQ(parallel_reduce(range2d(40L, 30L).with_grains({3, 4}), 0L, product, std::plus<>()),
                  780 * 435);
        EXPECT_EQ(parallel_reduce(range2d(0L, 30L), 3L, product, std::plus<>()), 3);
        EXPECT_EQ(parallel_reduce(
                      range3d(4, 5, 6), 0, [](int i, int j, int k) { return i + j + k; }, std::plus<>()),
                  4 * 5 * 6 * (3 + 4 + 5) / 2);
    });
}

TEST_P(ranges, exceptions_of_a_cell) {
    EXPECT_EQ(test::failure_of([&] {
                  rt_.run([] {
                      parallel_for(range2d(30, 30), [](int i, int j) {
                          if (i == 17 && j == 4) throw test::failure{5};
                      });
                  });
              }),
              5);
}

TEST(blocks, are_cut_across_the_longer_side) {
    const auto wide = range2d(10, 300);
    EXPECT_EQ(wide.halves().first.size(1), 150);
    EXPECT_EQ(wide.halves().second.begin(1), 150);
    EXPECT_EQ(wide.halves().second.size(0), 10);
    const auto high = range2d(30, 100); // 16 columns count as one row
    EXPECT_EQ(high.halves().first.end(0), 15);
    EXPECT_EQ(high.halves().first.size(1), 100);
    // Relative to the grains: 10 rows of 2 are 5, 30 columns of 10 are 3.
    EXPECT_EQ(range2d(10, 30).with_grains({2, 10}).halves().first.size(0), 5);
    EXPECT_EQ(range3d(2, 3, 4).halves().first.size(1), 1);
    EXPECT_EQ(range3d(2, 3, 64).halves().first.size(2), 32);
    EXPECT_EQ(range2d(1, 5).halves().first.size(1), 2);
    const auto [first, second] = range2d(12, 2).parts({1, 2});
    EXPECT_EQ(first.size(0), 4);
    EXPECT_EQ(second.size(0), 8);
    EXPECT_EQ(range2d(2, 1).parts({1, 1000}).first.size(0), 1);
    // Bounds whose difference is no int.
    constexpr int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    EXPECT_EQ(range2d(least, most, 0, 1).halves().second.begin(0), -1);
    EXPECT_TRUE(range2d(5, 2, 0, 3).empty());
}

// ---- extreme bounds

template <class I>
constexpr I least = std::numeric_limits<I>::min();
template <class I>
constexpr I most = std::numeric_limits<I>::max();

/// Calls `loop`, which passes pieces to its argument, and expects that the pieces are [first, last), each part once.
template <class I>
void expect_pieces_of(I first, I last, const auto& loop) {
    std::mutex lock; // held for no call of the library
    std::vector<std::pair<I, I>> pieces;
    loop([&](I begin, I end) {
        const std::lock_guard guard(lock);
        pieces.emplace_back(begin, end);
    });
    std::ranges::sort(pieces);
    ASSERT_FALSE(pieces.empty());
    EXPECT_EQ(pieces.front().first, first);
    EXPECT_EQ(pieces.back().second, last);
    for (std::size_t i = 1; i < pieces.size(); ++i) ASSERT_EQ(pieces[i - 1].second, pieces[i].first);
}

template <class I>
void expect_refused(I first, I last) {
    const auto says = [](auto&& loop) -> std::string {
        try {
            loop();
        } catch (const error& e) { return e.what(); }
        return "nothing was thrown";
    };
    const std::string right = "a loop has too many iterations; given: more than 2^63 - 1";
    const auto never = [](auto...) { FAIL(); };
    EXPECT_TRUE(says([&] { parallel_for(first, last, never); }).starts_with(right));
    EXPECT_TRUE(says([&] { parallel_for_range(first, last, never); }).starts_with(right));
    EXPECT_TRUE(says([&] {
                    static_cast<void>(parallel_reduce(first, last, 0, [](I) { return 1; }, std::plus<>()));
                }).starts_with(right));
    EXPECT_TRUE(says([&] { parallel_for(std::views::iota(first, last), never); }).starts_with(right));
    EXPECT_TRUE(says([&] { parallel_for(range2d(first, last, I{0}, I{1}), never); }).starts_with(right));
    EXPECT_TRUE(
        says([&] { parallel_for(range3d(I{0}, I{1}, first, last, I{0}, I{1}), never); }).starts_with(right));
}

TEST_P(ranges, extreme_bounds) {
    rt_.run([&] {
        // 16 cells at either end of a type, and all of a small one
        const auto each_once = [](auto first, auto last, std::uint64_t cells) {
            std::atomic<std::uint64_t> count{0};
            parallel_for(first, last, [&](auto i) {
                EXPECT_TRUE(first <= i && i < last);
                ++count;
            });
            EXPECT_EQ(count.load(), cells);
        };
        each_once(static_cast<std::int64_t>(most<std::int64_t> - 16), most<std::int64_t>, 16);
        each_once(least<std::int64_t>, static_cast<std::int64_t>(least<std::int64_t> + 16), 16);
        each_once(static_cast<std::uint64_t>(most<std::uint64_t> - 16), most<std::uint64_t>, 16);
        each_once((std::uint64_t{1} << 63) - 8, (std::uint64_t{1} << 63) + 8, 16);
        each_once(least<std::int8_t>, most<std::int8_t>, 255);
        each_once(std::uint16_t{0}, most<std::uint16_t>, 65535);
        each_once(most<std::int64_t>, least<std::int64_t>, 0);
        each_once(most<std::uint64_t>, std::uint64_t{0}, 0);

        // As many iterations as there may be, in pieces of a 64th
        const loop_options large{.grain = std::size_t{1} << 57};
        const auto pieces_are_right = [&](auto first, auto last) {
            expect_pieces_of(first, last,
                             [&](auto&& piece) { parallel_for_range(first, last, piece, large); });
        };
        pieces_are_right(std::int64_t{0}, most<std::int64_t>);
        pieces_are_right(least<std::int64_t>, std::int64_t{-1});
        pieces_are_right(std::uint64_t{0}, std::uint64_t{1} << 62);
        pieces_are_right(std::uint64_t{1} << 63, most<std::uint64_t>);
        expect_pieces_of(std::int64_t{0}, most<std::int64_t>, [&](auto&& piece) {
            parallel_for_range(std::int64_t{0}, most<std::int64_t>, piece, {.grain = most<std::size_t>});
        });
        std::atomic<std::int64_t> cells{0};
        parallel_for_range(
            range2d(least<std::int32_t>, most<std::int32_t>, 0, most<std::int32_t>),
            [&](const block<std::int32_t, 2>& b) { cells += b.size(); }, large);
        EXPECT_EQ(cells.load(), (std::int64_t{1} << 32) * most<std::int32_t> - most<std::int32_t>);
        EXPECT_EQ(parallel_reduce_range(
                      std::int64_t{0}, most<std::int64_t>, std::int64_t{0},
                      [](std::int64_t a, std::int64_t z, std::int64_t sum) { return sum + (z - a); },
                      std::plus<>()),
                  most<std::int64_t>);

        expect_refused(least<std::int64_t>, most<std::int64_t>);
        expect_refused(std::int64_t{-1}, most<std::int64_t>);
        expect_refused(std::uint64_t{0}, most<std::uint64_t>);
        expect_refused(std::uint64_t{0}, std::uint64_t{1} << 63);
        // 2^64 cells, which are 0 modulo 2^64
        EXPECT_THROW(
            parallel_for(range2d(std::int64_t{1} << 32, std::int64_t{1} << 32), [](auto, auto) { FAIL(); }),
            error);
        EXPECT_THROW(parallel_for(range3d(1 << 22, 1 << 21, 1 << 21), [](int, int, int) { FAIL(); }), error);
        parallel_for(range3d(most<std::int64_t>, most<std::int64_t>, std::int64_t{0}),
                     [](auto...) { FAIL(); });
    });
}

// Where the policy knows about loops, blocks become its pieces.
TEST(blocks, pieces_of_a_policy_for_loops) {
    test::modelled m("static", test::equal_cores(4));
    std::vector<std::array<int, 3>> pieces; // rows, columns, worker
    m.run([&] {
        parallel_for_range(range2d(8, 8), [&](const block<int, 2>& b) {
            pieces.push_back({b.begin(0), b.begin(1), this_task::worker()});
            EXPECT_EQ(b.size(), 16);
        });
    });
    std::ranges::sort(pieces);
    EXPECT_EQ(pieces, (std::vector<std::array<int, 3>>{{0, 0, 0}, {2, 0, 1}, {4, 0, 2}, {6, 0, 3}}));
}

// Blocks make a loop that is about as long as one over rows, in modelled time.
TEST(blocks, all_workers_get_some) {
    for (const char* policy : {"steal", "share", "adws"}) {
        test::modelled m(policy, test::equal_cores(8));
        std::array<int, 8> cells{};
        m.run([&] {
            parallel_for(range2d(3, 1000), [&](int, int) {
                cost(1000);
                ++cells[static_cast<std::size_t>(this_task::worker())];
            });
        });
        for (const int each : cells) EXPECT_NEAR(each, 375, 60) << policy;
    }
}

TEST(blocks, outside_of_a_runtime) {
    std::vector<std::atomic<int>> ran(600);
    parallel_for(range2d(20, 30), [&](int i, int j) { ++ran[static_cast<std::size_t>(i * 30 + j)]; });
    parallel_for(ran, [](auto& each) { ++each; });
    EXPECT_EQ(std::ranges::count_if(ran, [](const auto& r) { return r.load() != 2; }), 0);
}

} // namespace
} // namespace weft
