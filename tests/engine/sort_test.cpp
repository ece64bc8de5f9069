// ctest: labels=slow
//
// Sorting: the elements that were there, in order, whatever their type, their pattern, the comparison and the
// policy; equal ones too come in the same order everywhere.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

/// From where on there are buckets: see sort_elements and sort_keys.
constexpr std::size_t elements_cut = 4 * 1024, keys_cut = 4 * 16'384;
constexpr std::size_t some = test::sanitized ? 6'000 : 20'000;

class sorts : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
    std::mt19937_64 random_{test::seed};
};

INSTANTIATE_TEST_SUITE_P(all, sorts,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

/// Values below `bound` in the orders that sorts are known to meet.
std::vector<std::vector<std::uint64_t>> patterns(std::size_t n, std::mt19937_64& random) {
    const auto filled = [n](auto&& value) {
        std::vector<std::uint64_t> v(n);
        for (std::size_t i = 0; i < n; ++i) v[i] = value(i);
        return v;
    };
    return {
        filled([&](std::size_t) { return random(); }),
        filled([](std::size_t i) { return i; }),
        filled([n](std::size_t i) { return n - i; }),
        filled([](std::size_t) { return 7; }),
        filled([n](std::size_t i) { return std::min(i, n - i); }),
        filled([&](std::size_t) { return random() % 5; }),
        filled([&](std::size_t) { return random() % 4 ? 1'000'000 : random(); }), // one value, mostly
        filled([n](std::size_t i) { return i + 1 == n ? 0 : i; }),                // the last one is wrong
        filled([](std::size_t i) { return i % 2 ? i : ~i; }),
    };
}

template <class T, class Less>
void expect_sorted_as_by_std(runtime& rt, std::vector<T> values, Less less) {
    std::vector<T> expected = values;
    std::sort(expected.begin(), expected.end(), less);
    rt.run([&] { parallel_sort(values.begin(), values.end(), less); });
    ASSERT_TRUE(values == expected) << values.size() << " elements";
}

TEST_P(sorts, every_pattern_and_length) {
    WEFT_SEEDED;
    for (const std::size_t n : {0UL, 1UL, 2UL, 3UL, 10UL, 100UL, 4095UL, 4096UL, 4097UL, 10'000UL}) {
        // ThreadSanitizer: what runs in one task, and what runs in several
        if (test::thread_sanitized && n != 3 && n != 4097) continue;
        for (const auto& v : patterns(n, random_)) {
            expect_sorted_as_by_std(rt_, v, [](std::uint64_t a, std::uint64_t b) { return a < b; });
            expect_sorted_as_by_std(rt_, v, [](auto a, auto b) noexcept { return a > b; });
        }
    }
}

/// A type of numbers, cut down from 64 bits, under both orders, and the same in memory that is not
/// contiguous.
template <class T>
void expect_numbers_sorted(runtime& rt, std::mt19937_64& random, std::size_t n) {
    for (const auto& pattern : patterns(n, random)) {
        std::vector<T> v(pattern.size());
        std::transform(pattern.begin(), pattern.end(), v.begin(),
                       [](std::uint64_t x) { return static_cast<T>(static_cast<std::int64_t>(x)); });
        expect_sorted_as_by_std(rt, v, std::less<>{});
        expect_sorted_as_by_std(rt, v, std::greater<T>{});
    }
}

TEST_P(sorts, numbers_of_every_type) {
    WEFT_SEEDED;
    for (const std::size_t n : {2UL, 100UL, 5000UL}) {
        if (test::thread_sanitized && n < 5000) continue;
        expect_numbers_sorted<std::int8_t>(rt_, random_, n);
        expect_numbers_sorted<double>(rt_, random_, n);
        if (test::thread_sanitized) continue; // the tasks share the same memory whatever the numbers are
        expect_numbers_sorted<short>(rt_, random_, n);
        expect_numbers_sorted<int>(rt_, random_, n);
        expect_numbers_sorted<std::uint32_t>(rt_, random_, n);
        expect_numbers_sorted<long long>(rt_, random_, n);
        expect_numbers_sorted<std::uint64_t>(rt_, random_, n);
        expect_numbers_sorted<float>(rt_, random_, n);
    }
}

TEST(sorts_of_keys, in_buckets) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    for (const auto& s : test::setups({"steal", "share"}, {1, 4})) {
        if (test::thread_sanitized && s.workers == 1) continue;
        runtime rt(s.options());
        expect_numbers_sorted<std::uint32_t>(rt, random, keys_cut);
        if (test::sanitized) continue;
        expect_numbers_sorted<std::uint32_t>(rt, random, keys_cut - 1);
        expect_numbers_sorted<std::int16_t>(rt, random, keys_cut + 1);
        expect_numbers_sorted<std::int64_t>(rt, random, 2 * keys_cut + 77);
        expect_numbers_sorted<float>(rt, random, keys_cut + 4321);
        expect_numbers_sorted<double>(rt, random, keys_cut + 1234);
    }
}

/// The number that its bits say, in the order of IEEE 754 but for those that are none, which come last.
template <class T>
bool is_before_or_same(T a, T b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(b);
    return a < b || (a == b && std::signbit(a) >= std::signbit(b));
}

template <class T, class Bits>
void expect_all_bits_kept(runtime& rt, std::mt19937_64& random, std::size_t n) {
    std::vector<T> v(n);
    const T special[] = {T(0),
                         -T(0),
                         std::numeric_limits<T>::infinity(),
                         -std::numeric_limits<T>::infinity(),
                         std::numeric_limits<T>::quiet_NaN(),
                         -std::numeric_limits<T>::quiet_NaN(),
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::lowest(),
                         T(1),
                         T(-1)};
    for (T& x : v) {
        x = special[random() % std::size(special)];
        if (random() % 4 != 0) continue;
        const Bits any = static_cast<Bits>(random()); // anything at all
        std::memcpy(&x, &any, sizeof x);
    }
    const auto bits_of = [](const std::vector<T>& values) {
        std::vector<Bits> bits(values.size());
        std::memcpy(bits.data(), values.data(), sizeof(T) * values.size());
        return bits;
    };
    std::vector<T> ascending = v, descending = v;
    rt.run([&] {
        parallel_sort(ascending.begin(), ascending.end());
        parallel_sort(descending.begin(), descending.end(), std::greater<>{});
    });
    for (std::size_t i = 1; i < n; ++i) {
        ASSERT_TRUE(is_before_or_same(ascending[i - 1], ascending[i])) << i << " of " << n;
    }
    std::reverse(descending.begin(), descending.end());
    const auto bits = bits_of(ascending);
    ASSERT_EQ(bits, bits_of(descending));
    auto before = bits_of(v), after = bits;
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    ASSERT_EQ(before, after);
}

TEST(sorts_of_keys, every_float_is_kept_and_has_its_place) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    for (const int workers : {1, 2, 4}) {
        runtime rt(test::setup{"steal", workers}.options());
        for (const std::size_t n : {2UL, 20UL, 1000UL, keys_cut + 5}) {
            expect_all_bits_kept<float, std::uint32_t>(rt, random, n);
            expect_all_bits_kept<double, std::uint64_t>(rt, random, n);
        }
    }
}

TEST_P(sorts, what_is_no_number_comes_last_elsewhere_too) {
    std::deque<double> d;
    for (int i = 0; i < 6000; ++i)
        d.push_back(i % 3 == 0 ? std::nan("") : static_cast<double>(i * 7919 % 6000));
    rt_.run([&] { parallel_sort(d.begin(), d.end()); });
    EXPECT_TRUE(std::is_sorted(d.begin(), d.begin() + 4000));
    EXPECT_TRUE(std::all_of(d.begin() + 4000, d.end(), [](double x) { return std::isnan(x); }));
    rt_.run([&] { parallel_sort(d.begin(), d.end(), std::greater<>{}); });
    EXPECT_TRUE(std::all_of(d.begin(), d.begin() + 2000, [](double x) { return std::isnan(x); }));
    EXPECT_TRUE(std::is_sorted(d.begin() + 2000, d.end(), std::greater<>{}));
}

TEST_P(sorts, strings_and_other_memory) {
    WEFT_SEEDED;
    std::vector<std::string> v(some);
    for (auto& s : v)
        s = std::to_string(random_() % 5000) + (random_() % 2 ? " and so long that it is elsewhere" : "");
    expect_sorted_as_by_std(rt_, v, std::less<>{});
    expect_sorted_as_by_std(rt_, v, [](const std::string& a, const std::string& b) { return b < a; });

    std::deque<std::string> d(v.begin(), v.end());
    rt_.run([&] { parallel_sort(d.begin(), d.end()); });
    EXPECT_TRUE(std::is_sorted(d.begin(), d.end()));
    rt_.run([&] { parallel_sort(d.rbegin(), d.rend()); });
    EXPECT_TRUE(std::is_sorted(d.rbegin(), d.rend()));

    std::vector<std::int32_t> numbers(some);
    for (auto& x : numbers) x = static_cast<std::int32_t>(random_());
    rt_.run([&] { parallel_sort(numbers.rbegin(), numbers.rend(), std::ranges::less{}); });
    EXPECT_TRUE(std::is_sorted(numbers.rbegin(), numbers.rend()));
}

TEST_P(sorts, what_can_only_be_moved) {
    WEFT_SEEDED;
    const auto by_value = [](const auto& a, const auto& b) { return *a < *b; };
    for (const std::size_t n : {std::size_t{5}, elements_cut - 1, some}) {
        std::vector<std::unique_ptr<int>> v(n);
        std::vector<int> expected;
        for (auto& p : v)
            expected.push_back(*(p = std::make_unique<int>(static_cast<int>(random_() % 10'000))));
        std::sort(expected.begin(), expected.end());
        rt_.run([&] { parallel_sort(v.begin(), v.end(), by_value); });
        for (std::size_t i = 0; i < n; ++i) {
            ASSERT_TRUE(v[i]);
            ASSERT_EQ(*v[i], expected[i]) << i << " of " << n;
        }
    }
}

struct record {
    std::uint32_t key;
    std::uint32_t number;
    std::array<char, 40> more{}; ///< too large for a splitter
    bool operator==(const record&) const = default;
};
constexpr auto by_key = [](const auto& a, const auto& b) { return a.key < b.key; };

struct named {
    std::uint32_t key;
    std::string name;
    bool operator==(const named&) const = default;
};

TEST(sort, equal_elements_come_in_the_same_order_everywhere) {
    WEFT_SEEDED;
    std::mt19937_64 random(test::seed);
    std::vector<record> records(some);
    std::vector<named> names(some);
    for (std::uint32_t i = 0; i < some; ++i) {
        records[i] = {static_cast<std::uint32_t>(random() % 1000), i};
        names[i] = {static_cast<std::uint32_t>(random() % 20), std::to_string(i)};
    }
    std::vector<record> records_expected;
    std::vector<named> names_expected;
    for (const auto& s : test::setups_in_turn(test::policies_of_suite, {1, 2, 3, 4})) {
        runtime rt(s.options());
        auto r = records;
        auto n = names;
        rt.run([&] {
            parallel_sort(r.begin(), r.end(), by_key);
            parallel_sort(n.begin(), n.end(), by_key);
        });
        if (records_expected.empty()) {
            ASSERT_TRUE(std::is_sorted(r.begin(), r.end(), by_key));
            ASSERT_TRUE(std::is_sorted(n.begin(), n.end(), by_key));
            records_expected = std::move(r);
            names_expected = std::move(n);
        } else {
            ASSERT_TRUE(r == records_expected) << s;
            ASSERT_TRUE(n == names_expected) << s;
        }
    }
}

TEST_P(sorts, run_beside_others_and_inside) {
    WEFT_SEEDED;
    std::vector<std::vector<int>> many(6, std::vector<int>(5000));
    for (auto& v : many)
        for (int& x : v) x = static_cast<int>(random_());
    rt_.run([&] {
        parallel_for(std::size_t{0}, many.size(), [&](std::size_t i) {
            parallel_sort(many[i].begin(), many[i].end(), [](int a, int b) { return a < b; });
        });
    });
    for (const auto& v : many) EXPECT_TRUE(std::is_sorted(v.begin(), v.end()));
}

TEST(sorts_outside, run_in_the_default_runtime) {
    setenv("WEFT_WORKERS", "2", 0);
    std::vector<std::uint32_t> keys(keys_cut);
    for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = i * 2'654'435'761U;
    std::vector<std::string> words(elements_cut);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::to_string(keys[i]);
    parallel_sort(keys.begin(), keys.end());
    parallel_sort(words.begin(), words.end());
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
    EXPECT_TRUE(std::is_sorted(words.begin(), words.end()));
}

} // namespace
} // namespace weft
