// Sorting when something throws: no element is lost to a comparison, and nothing leaks when a move fails.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::failure;
using test::failure_of;

constexpr std::size_t some = test::sanitized ? 6'000 : 20'000; // enough for several buckets

class sorts_that_fail : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
    std::mt19937_64 random_{test::seed};
};

INSTANTIATE_TEST_SUITE_P(all, sorts_that_fail,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

/// Counts its lives; moves may be promised not to throw.
template <bool Noexcept>
class counted {
public:
    counted(test::lives& of, int v) : value(v), life_(of, v) {}
    counted(counted&& other) noexcept(Noexcept) : value(other.value), life_(std::move(other.life_)) {}
    counted& operator=(counted&& other) noexcept(Noexcept) {
        value = other.value;
        return *this;
    }
    int value;

private:
    test::tracked life_;
};

/// Throws at a random comparison, if at all; then every element is there.
template <class V, class Value>
void expect_all_kept(runtime& rt, V& v, std::size_t throw_at, Value value) {
    std::vector<int> before, after;
    for (const auto& x : v) before.push_back(value(x));
    std::atomic<std::size_t> calls{0}, inside{0};
    const int thrown = rt.run([&] {
        return failure_of([&] {
            parallel_sort(v.begin(), v.end(), [&](const auto& a, const auto& b) {
                ++inside;
                const bool now = calls++ == throw_at;
                --inside;
                if (now) throw failure{11};
                return value(a) < value(b);
            });
        });
    });
    EXPECT_EQ(inside.load(), 0U);
    EXPECT_EQ(thrown, calls.load() > throw_at ? 11 : -1);
    for (const auto& x : v) after.push_back(value(x));
    EXPECT_TRUE(thrown == 11 || std::is_sorted(after.begin(), after.end()));
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    ASSERT_EQ(before, after) << "thrown at comparison " << throw_at << " of " << v.size() << " elements";
}

TEST_P(sorts_that_fail, nothing_is_lost_when_a_comparison_throws) {
    WEFT_SEEDED;
    for (const std::size_t n : {std::size_t{30}, some})
        for (int repeat = 0; repeat < (test::sanitized ? 2 : 4); ++repeat) {
            // n log n comparisons: at the first, while there are buckets made, while they are sorted, at the
            // end
            const std::size_t throw_at = repeat == 0 ? 0 : random_() % (n * 16);
            std::vector<int> trivial(n);
            for (int& x : trivial) x = static_cast<int>(random_() % 100'000);
            expect_all_kept(rt_, trivial, throw_at, [](int x) { return x; });

            std::vector<std::unique_ptr<int>> owned(n);
            for (auto& p : owned) p = std::make_unique<int>(static_cast<int>(random_() % 100'000));
            expect_all_kept(rt_, owned, throw_at, [](const auto& p) { return p ? *p : -1; });

            test::lives lives;
            {
                std::vector<counted<true>> v;
                std::vector<counted<false>> w;
                v.reserve(n), w.reserve(n);
                for (std::size_t i = 0; i < n; ++i) {
                    v.emplace_back(lives, static_cast<int>(random_() % 1000));
                    w.emplace_back(lives, static_cast<int>(random_() % 1000));
                }
                expect_all_kept(rt_, v, throw_at, [](const auto& x) { return x.value; });
                expect_all_kept(rt_, w, throw_at, [](const auto& x) { return x.value; });
                EXPECT_EQ(lives.alive(), static_cast<int>(2 * n));
            }
            test::expect_all_dead(lives);
        }
}

/// Throws when it is moved for the given time.
struct fragile {
    static inline std::atomic<int> moves_left{0};
    static void moved() {
        if (--moves_left == 0) throw failure{5};
    }
    fragile(int v, test::lives& of) : value(v), life(of) {}
    fragile(fragile&& other) : value(other.value), life(std::move(other.life)) { moved(); }
    fragile& operator=(fragile&& other) {
        moved();
        value = other.value;
        return *this;
    }
    int value;
    test::tracked life;
};

TEST_P(sorts_that_fail, nothing_leaks_when_a_move_throws) {
    WEFT_SEEDED;
    test::lives lives;
    for (const int moves : {1, 2, 1000, 1 << 30}) {
        std::vector<fragile> v;
        v.reserve(some);
        fragile::moves_left = 1 << 30;
        for (std::size_t i = 0; i < some; ++i) v.emplace_back(static_cast<int>(random_() % 1000), lives);
        fragile::moves_left = moves;
        const int thrown = rt_.run([&] {
            return failure_of([&] {
                parallel_sort(v.begin(), v.end(),
                              [](const fragile& a, const fragile& b) { return a.value < b.value; });
            });
        });
        EXPECT_EQ(thrown, moves == 1 << 30 ? -1 : 5);
        EXPECT_EQ(lives.alive(), static_cast<int>(some));
        EXPECT_TRUE(thrown == 5 || std::is_sorted(v.begin(), v.end(), [](const auto& a, const auto& b) {
                        return a.value < b.value;
                    }));
    }
    test::expect_all_dead(lives);
}

} // namespace
} // namespace weft
