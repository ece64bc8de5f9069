// The grain that a loop learns. The tests count pieces, never seconds.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace {

int pieces_of_quick_loop(weft::runtime& rt, int n) {
    std::atomic<int> pieces{0};
    rt.run([&] {
        weft::parallel_for_range(0, n, [&](int, int) { pieces.fetch_add(1, std::memory_order_relaxed); });
    });
    return pieces;
}

// Sizes around powers of two, and far from them: halving leaves subtrees that differ by one.
TEST(grain, grows_for_trivial_bodies_whatever_the_size) {
    weft::runtime rt({.workers = 2});
    for (const int n : {1'000'000, 1 << 20, (1 << 20) + 1, (1 << 20) - 1, 100'000'000, 99'999'989})
        EXPECT_LT(pieces_of_quick_loop(rt, n), n / 1000) << n;
}

TEST(grain, stays_at_one_for_long_bodies) {
    weft::runtime rt({.workers = 2});
    std::atomic<int> pieces{0};
    rt.run([&] {
        weft::parallel_for_range(0, 40, [&](int, int) {
            pieces.fetch_add(1, std::memory_order_relaxed);
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
            while (std::chrono::steady_clock::now() < until) {}
        });
    });
    EXPECT_EQ(pieces, 40);
}

TEST(grain, is_the_one_given) {
    weft::runtime rt({.workers = 2});
    std::atomic<int> longest{0}, pieces{0};
    rt.run([&] {
        weft::parallel_for_range(0, 1000,
                                 [&](int first, int last) {
                                     pieces.fetch_add(1, std::memory_order_relaxed);
                                     int before = longest.load();
                                     while (before < last - first &&
                                            !longest.compare_exchange_weak(before, last - first)) {}
                                 },
                                 {.grain = 10});
    });
    EXPECT_LE(longest, 10);
    EXPECT_EQ(pieces, 128); // halved until at most 10: 1000 / 128
}

} // namespace
