// Scans: what std::inclusive_scan makes, for operations in any order of combination; the same bits everywhere
// for those that are associative only roughly.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::failure;
using test::failure_of;

class scans : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
    std::mt19937_64 random_{test::seed};
};

INSTANTIATE_TEST_SUITE_P(all, scans,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

constexpr std::size_t lengths[] = {
    0, 1, 2, 15, 16, 17, 255, 256, 257, 1000, test::thread_sanitized ? 3000 : 20'000};

TEST_P(scans, sums) {
    WEFT_SEEDED;
    for (const std::size_t n : lengths)
        for (const std::size_t grain : {0UL, 1UL, 7UL, 300UL, 100'000UL}) {
            if (grain != 0 && n / grain > (test::sanitized ? 100 : 1000)) continue;
            std::vector<std::uint64_t> v(n), expected(n), out(n + 1, 42);
            for (auto& x : v) x = random_();
            std::inclusive_scan(v.begin(), v.end(), expected.begin());
            expected.push_back(42); // one past the end is not touched
            const auto end = rt_.run([&] {
                return parallel_scan(v.begin(), v.end(), out.begin(), std::uint64_t{0}, std::plus<>{},
                                     {.grain = grain});
            });
            ASSERT_EQ(end - out.begin(), static_cast<std::ptrdiff_t>(n));
            ASSERT_EQ(out, expected) << n << ", " << grain;

            rt_.run([&] {
                return parallel_scan(v.begin(), v.end(), v.begin(), std::uint64_t{0}, std::plus<>{},
                                     {.grain = grain});
            });
            expected.pop_back();
            ASSERT_EQ(v, expected) << "in place, " << n << ", " << grain;
        }
}

/// x -> a x + b modulo 2^64; applied one after the other.
struct affine {
    std::uint64_t a = 1, b = 0;
    bool operator==(const affine&) const = default;
};
affine then(const affine& f, const affine& g) { return {g.a * f.a, g.a * f.b + g.b}; }

TEST_P(scans, what_does_not_commute) {
    WEFT_SEEDED;
    for (const std::size_t n : lengths) {
        std::vector<affine> v(n), expected(n);
        for (auto& f : v) f = {random_(), random_()};
        std::inclusive_scan(v.begin(), v.end(), expected.begin(), then);
        std::deque<affine> out(n);
        rt_.run([&] { parallel_scan(v.begin(), v.end(), out.begin(), affine{}, then); });
        ASSERT_TRUE(std::equal(out.begin(), out.end(), expected.begin())) << n;
    }
}

TEST_P(scans, texts_in_place) {
    std::vector<std::string> v(300), expected(300);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::to_string(i) + " ";
    std::inclusive_scan(v.begin(), v.end(), expected.begin());
    rt_.run([&] { parallel_scan(v.begin(), v.end(), v.begin(), std::string(), std::plus<>{}); });
    EXPECT_EQ(v, expected);
}

/// Can only be moved.
struct large {
    explicit large(int x) : value(std::make_unique<int>(x)) {}
    std::unique_ptr<int> value;
};

TEST_P(scans, what_can_only_be_moved) {
    std::vector<large> v;
    for (int i = 0; i < 2000; ++i) v.emplace_back(i);
    rt_.run([&] {
        parallel_scan(v.begin(), v.end(), v.begin(), large(0),
                      [](const large& a, const large& b) { return large(*a.value + *b.value); });
    });
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(*v[static_cast<std::size_t>(i)].value, i * (i + 1) / 2);
}

TEST_P(scans, three_types) {
    const std::vector<char> flags(5000, 1);
    std::vector<float> out(flags.size());
    rt_.run([&] { parallel_scan(flags.begin(), flags.end(), out.begin(), 0.0, std::plus<>{}); });
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<float>(i + 1));
}

TEST_P(scans, long_operations) {
    // Where it takes long, few elements are worth two workers; times are not compared.
    std::vector<int> v(100, 1), out(100);
    rt_.run([&] {
        parallel_scan(v.begin(), v.end(), out.begin(), 0, [](int a, int b) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
            while (std::chrono::steady_clock::now() < until) {}
            return a + b;
        });
    });
    for (int i = 0; i < 100; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i + 1);
}

TEST_P(scans, exceptions_come_out_once_nothing_runs) {
    WEFT_SEEDED;
    for (int repeat = 0; repeat < 10; ++repeat) {
        const int bad = static_cast<int>(random_() % 3000);
        std::vector<int> v(3000), out(3000);
        std::iota(v.begin(), v.end(), 0);
        std::atomic<int> inside{0};
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                parallel_scan(v.begin(), v.end(), out.begin(), 0, [&](int a, int b) {
                    ++inside;
                    const int larger = std::max(a, b);
                    --inside;
                    return b == bad ? throw failure{9} : larger;
                });
            });
        });
        EXPECT_EQ(thrown, 9);
        EXPECT_EQ(inside.load(), 0);
    }
}

TEST(scan, has_the_same_bits_everywhere) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    struct sums {
        std::vector<double> of;
        std::size_t grain;
        std::vector<double> expected;
    };
    std::vector<sums> all;
    for (const std::size_t n : {1UL, 100UL, 1000UL, 1500UL, 20'000UL}) {
        if (test::thread_sanitized && n > 2000) continue;
        std::vector<double> v(n);
        for (auto& x : v)
            x = std::ldexp(static_cast<double>(random() % 1000), static_cast<int>(random() % 60));
        for (const std::size_t grain : {0UL, 13UL})
            if (grain == 0 || n / grain <= 200) all.push_back({v, grain, {}});
    }
    for (const auto& s : test::setups_in_turn(test::policies_of_suite, {1, 2, 3, 4})) {
        runtime rt(s.options());
        for (auto& [v, grain, expected] : all) {
            std::vector<double> out(v.size());
            rt.run([&v = v, &out, grain = grain] {
                parallel_scan(v.begin(), v.end(), out.begin(), 0.0, std::plus<>{}, {.grain = grain});
            });
            if (expected.empty()) expected = out;
            ASSERT_EQ(std::memcmp(out.data(), expected.data(), v.size() * sizeof(double)), 0)
                << s << ", " << v.size() << ", " << grain;
        }
    }
}

TEST(scans_outside, run_in_the_default_runtime) {
    setenv("WEFT_WORKERS", "2", 0);
    std::vector<int> v(10'000, 1);
    const auto end = parallel_scan(v.begin(), v.end(), v.begin(), 0, std::plus<>{});
    EXPECT_EQ(end, v.end());
    EXPECT_EQ(v.back(), 10'000);
}

} // namespace
} // namespace weft
