// ctest: labels=slow
//
// Loops and reductions: every index exactly once whatever the type, the grain and the policy; a reduction has
// the same bits everywhere.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::failure;
using test::failure_of;

/// Where a policy makes a task of each piece; breadth-first ones a fiber for each inner node as well.
constexpr std::size_t max_tasks = test::thread_sanitized ? 100 : test::sanitized ? 700 : 3500;

class loops : public testing::TestWithParam<test::setup> {
protected:
    /// Runs `body(ran)` where ran[i] is to become 1.
    template <class Body>
    void expect_each_once(std::size_t n, Body&& body) {
        std::vector<std::atomic<int>> ran(n);
        rt_.run([&] { body(ran); });
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(ran[i].load(), 1) << "index " << i << " of " << n;
    }

    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, loops,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(loops, each_index_once) {
    for (const std::size_t n : {0, 1, 2, 3, 7, 64, 1000, 10'000})
        for (const std::size_t grain : {0, 1, 3, 64, 100'000}) {
            if (grain != 0 && n / grain > max_tasks) continue;
            expect_each_once(n, [&](auto& ran) {
                parallel_for(std::size_t{0}, n, [&](std::size_t i) { ++ran[i]; }, {.grain = grain});
            });
        }
}

TEST_P(loops, ranges_cover_without_overlap) {
    expect_each_once(5000, [&](auto& ran) {
        parallel_for_range(0, 5000, [&](int begin, int end) {
            EXPECT_LT(begin, end);
            for (int i = begin; i < end; ++i) ++ran[static_cast<std::size_t>(i)];
        });
    });
}

TEST_P(loops, pieces_are_no_longer_than_the_grain) {
    for (const std::size_t grain : {1, 7, 100}) {
        std::atomic<std::size_t> longest{0};
        std::atomic<int> sum{0};
        rt_.run([&] {
            parallel_for_range(0, 777,
                               [&](int begin, int end) {
                                   const auto length = static_cast<std::size_t>(end - begin);
                                   for (auto seen = longest.load();
                                        seen < length && !longest.compare_exchange_weak(seen, length);) {}
                                   sum += end - begin;
                               },
                               {.grain = grain});
        });
        EXPECT_LE(longest.load(), grain);
        EXPECT_EQ(sum.load(), 777);
    }
}

TEST_P(loops, negative_bounds_and_small_types) {
    std::atomic<long> sum{0};
    rt_.run([&] {
        parallel_for(-100, 50, [&](int i) { sum += i; });
        parallel_for(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) { sum += i; });
        parallel_for(std::uint8_t{0}, std::uint8_t{255}, [&](std::uint8_t i) { sum += i; });
        parallel_for(std::int64_t{1} << 40, (std::int64_t{1} << 40) + 10,
                     [&](std::int64_t i) { sum += i - (std::int64_t{1} << 40); });
    });
    EXPECT_EQ(sum.load(), -3825 - 255 + 32'385 + 45);
}

// The difference of these bounds is no int.
TEST_P(loops, the_widest_range_of_a_type) {
    std::atomic<std::int64_t> length{0}, sum{0};
    rt_.run([&] {
        parallel_for_range(std::numeric_limits<int>::min(), std::numeric_limits<int>::max(),
                           [&](int begin, int end) {
                               length += std::int64_t{end} - begin;
                               sum += (std::int64_t{begin} + end - 1) * (std::int64_t{end} - begin) / 2;
                           },
                           {.grain = std::size_t{1} << 26});
    });
    EXPECT_EQ(length.load(), (std::int64_t{1} << 32) - 1);
    EXPECT_EQ(sum.load(), -2 * ((std::int64_t{1} << 32) - 1) / 2);
}

TEST_P(loops, nothing_to_do) {
    rt_.run([] {
        const auto never = [](auto...) { ADD_FAILURE() << "a body ran"; };
        parallel_for(0, 0, never);
        parallel_for(5, -5, never);
        parallel_for(7u, 3u, never);
        parallel_for_range(3, 3, never);
        std::vector<int> none;
        parallel_for(none.begin(), none.end(), never);
        EXPECT_EQ(parallel_reduce(4, 1, 17, [](int i) { return i; }, [](int a, int b) { return a + b; }), 17);
    });
}

TEST_P(loops, iterators_and_pointers) {
    std::vector<int> v(1000, 1);
    std::deque<int> d(1000, 2);
    int a[100] = {};
    rt_.run([&] {
        parallel_for(v.begin(), v.end(), [](auto i) { *i += 1; });
        parallel_for(d.begin(), d.end(), [](auto i) { *i += 1; }, {.grain = 10});
        parallel_for_range(std::begin(a), std::end(a), [](int* begin, int* end) {
            for (; begin != end; ++begin) *begin = 4;
        });
    });
    for (const int x : v) EXPECT_EQ(x, 2);
    for (const int x : d) EXPECT_EQ(x, 3);
    for (const int x : a) EXPECT_EQ(x, 4);
}

TEST_P(loops, nest) {
    // Breadth first, most of the joins wait at once, each on a stack of its own: ThreadSanitizer has about
    // 8000.
    constexpr int n = test::sanitized ? 8 : 20;
    std::vector<std::atomic<int>> ran(n * n * n);
    rt_.run([&] {
        parallel_for(0, n, [&](int i) {
            parallel_for(0, n, [&](int j) {
                parallel_for(0, n, [&](int k) { ++ran[static_cast<std::size_t>((i * n + j) * n + k)]; });
            });
        });
    });
    for (const auto& r : ran) ASSERT_EQ(r.load(), 1);
}

TEST_P(loops, exceptions_come_out_once_all_pieces_have_ended) {
    for (const int bad : {0, 1, 250, 499}) {
        std::atomic<int> inside{0};
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                parallel_for(0, 500,
                             [&](int i) {
                                 ++inside;
                                 struct leave {
                                     std::atomic<int>& count;
                                     ~leave() { --count; }
                                 } const leaves{inside};
                                 if (i == bad) throw failure{i};
                             },
                             {.grain = 10});
            });
        });
        EXPECT_EQ(thrown, bad);
        EXPECT_EQ(inside.load(), 0);
    }
    EXPECT_GE(failure_of([&] { rt_.run([] { parallel_for(0, 100, [](int i) { throw failure{i}; }); }); }), 0);
}

TEST_P(loops, bodies_may_join_and_use_groups) {
    std::atomic<int> sum{0};
    rt_.run([&] {
        parallel_for(0, 50, [&](int) {
            task_group g;
            g.run([&] { ++sum; });
            const auto [a, b] = join([] { return 1; }, [] { return 2; });
            sum += a + b;
            g.wait();
        });
    });
    EXPECT_EQ(sum.load(), 200);
}

TEST_P(loops, a_grain_is_learnt) {
    // Trivial bodies are run in long pieces, slow ones in short pieces. No times are compared: of so many
    // trivial iterations, and one worker, much fewer pieces than iterations; of slow ones, pieces of one
    // iteration at first.
    std::atomic<int> pieces{0}, iterations{0};
    constexpr int n = 200'000;
    rt_.run([&] {
        parallel_for_range(0, n, [&](int begin, int end) {
            ++pieces;
            iterations += end - begin;
        });
    });
    EXPECT_EQ(iterations.load(), n);
    EXPECT_LT(pieces.load(), n / 10);

    pieces = 0;
    rt_.run([&] {
        parallel_for_range(0, 64, [&](int begin, int end) {
            ++pieces;
            for (int i = begin; i < end; ++i) {
                const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
                while (std::chrono::steady_clock::now() < until) {}
            }
        });
    });
    const std::string& policy = GetParam().policy;
    const bool cut_beforehand =
        policy.starts_with("static") || policy.starts_with("dynamic") || policy == "packing";
    if (!cut_beforehand) { EXPECT_GE(pieces.load(), 16); }
}

// ---- reductions

/// Floating-point addition is not associative: the sum depends on the shape of the tree.
double rough_sum(std::size_t n, std::size_t grain) {
    return parallel_reduce(
        std::size_t{0}, n, 0.0,
        [](std::size_t i) { return 1.0 / (1.0 + static_cast<double>(i * 7919 % 1009)); },
        [](double a, double b) { return a + b; }, {.grain = grain});
}

std::uint64_t bits(double x) {
    std::uint64_t b;
    std::memcpy(&b, &x, sizeof b);
    return b;
}

TEST(reduce, has_the_same_bits_everywhere) {
    struct sum {
        std::size_t n, grain;
        std::uint64_t expected;
    };
    std::vector<sum> sums;
    {
        runtime rt(test::setup{"serial", 1}.options());
        for (const std::size_t n : {1, 2, 1000, 5000, 20'000})
            for (const std::size_t grain : {0, 1, 17}) {
                if (grain != 0 && n / grain > max_tasks) continue;
                if (test::thread_sanitized && n > 5000) continue;
                sums.push_back({n, grain, bits(rt.run([&] { return rough_sum(n, grain); }))});
            }
    }
    for (const auto& s : test::setups_in_turn(test::policies_of_suite, {1, 2, 3, 4})) {
        runtime rt(s.options());
        for (const sum& x : sums)
            ASSERT_EQ(bits(rt.run([&] { return rough_sum(x.n, x.grain); })), x.expected)
                << s << ", " << x.n << ", " << x.grain;
    }
}

TEST_P(loops, reduce_keeps_the_order_of_the_elements) {
    std::string expected;
    for (int i = 0; i < 500; ++i) expected += std::to_string(i) + " ";
    for (const std::size_t grain : {0, 1, 30, 1000}) {
        const std::string text = rt_.run([&] {
            return parallel_reduce(
                0, 500, std::string(), [](int i) { return std::to_string(i) + " "; },
                [](std::string a, const std::string& b) { return std::move(a) + b; }, {.grain = grain});
        });
        EXPECT_EQ(text, expected);
    }
}

TEST_P(loops, reduce_over_iterators_with_a_function_of_two_types) {
    const std::vector<int> v(300, 3);
    const double sum = rt_.run([&] {
        return parallel_reduce(
            v.begin(), v.end(), 0.5 - 0.5, [](auto i) { return *i * 0.5; },
            [](double a, double b) { return a + b; });
    });
    EXPECT_EQ(sum, 450.0);
}

TEST_P(loops, reduce_throws_what_map_or_combine_throws) {
    EXPECT_EQ(3, failure_of([&] {
                  rt_.run([] {
                      return parallel_reduce(
                          0, 100, 0, [](int i) -> int { return i == 50 ? throw failure{3} : i; },
                          [](int a, int b) { return a + b; }, {.grain = 5});
                  });
              }));
    EXPECT_EQ(4, failure_of([&] {
                  rt_.run([] {
                      return parallel_reduce(
                          0, 100, 0, [](int i) { return i; }, [](int, int) -> int { throw failure{4}; },
                          {.grain = 5});
                  });
              }));
}

TEST(loops_outside, run_in_the_default_runtime) {
    setenv("WEFT_WORKERS", "2", 0);
    std::atomic<int> sum{0};
    parallel_for(0, 100, [&](int i) { sum += i; });
    EXPECT_EQ(sum.load(), 4950);
    EXPECT_EQ(parallel_reduce(0, 100, 0, [](int i) { return i; }, [](int a, int b) { return a + b; }), 4950);
    EXPECT_EQ(5, failure_of([] {
                  parallel_for(0, 10, [](int i) {
                      if (i == 5) throw failure{5};
                  });
              }));
}

// Random ranges and grains, nested.
TEST_P(loops, random_shapes) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    for (int repeat = 0; repeat < (test::sanitized ? 5 : 30); ++repeat) {
        const int first = static_cast<int>(random() % 1000) - 500;
        const int n = static_cast<int>(random() % 400);
        const std::size_t grain = random() % 50, inner = random() % 5;
        std::vector<std::atomic<int>> ran(static_cast<std::size_t>(n));
        rt_.run([&] {
            parallel_for(first, first + n,
                         [&](int i) {
                             parallel_for(0, 3, [&](int) { ++ran[static_cast<std::size_t>(i - first)]; },
                                          {.grain = inner});
                         },
                         {.grain = grain});
        });
        for (const auto& r : ran)
            ASSERT_EQ(r.load(), 3) << first << ", " << n << ", " << grain << ", " << inner;
    }
}

} // namespace
} // namespace weft
