// Which stacks a pool gives back, and when: after a burst those above its level, unless bursts go on.
#include "task/fiber_pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace weft {
namespace {

using time = fiber_pool::clock::time_point;

class pool : public testing::Test {
protected:
    static constexpr std::size_t keep = 10;
    fiber_pool pool_{std::size_t{64} << 10, keep, [](arrival) { std::abort(); }};
    time now_ = fiber_pool::clock::now();

    /// `n` stacks at once.
    void burst(std::size_t n) {
        std::vector<fiber*> taken;
        while (taken.size() < n) taken.push_back(pool_.take());
        for (fiber* f : taken) pool_.give(f);
    }
    void passes(fiber_pool::clock::duration d) { now_ += d; }
    std::size_t trimmed() {
        std::size_t looks = 0;
        while (pool_.trim(8, now_)) ++looks;
        return looks;
    }
};

TEST_F(pool, keeps_what_a_burst_needed_for_a_while) {
    burst(100);
    EXPECT_TRUE(pool_.has_spare());
    passes(fiber_pool::linger);
    EXPECT_EQ(trimmed(), 0U) << "all of them were in use in the period that ends now";
    passes(fiber_pool::linger - std::chrono::milliseconds(1));
    EXPECT_EQ(trimmed(), 0U);
    EXPECT_EQ(pool_.mapped(), 100U);
    passes(std::chrono::milliseconds(1));
    EXPECT_EQ(trimmed(), 12U) << "eight at a time";
    EXPECT_EQ(pool_.mapped(), keep);
    EXPECT_FALSE(pool_.has_spare());
    EXPECT_EQ(pool_.peak(), 100U);
}

TEST_F(pool, keeps_what_bursts_need_again_and_again) {
    burst(300);
    for (int i = 0; i < 10; ++i) {
        passes(fiber_pool::linger / 2);
        trimmed();
        burst(100);
    }
    EXPECT_EQ(pool_.mapped(), 100U) << "the first one was larger than all others";
}

TEST_F(pool, takes_no_stack_for_unused_that_was_needed_since) {
    burst(100);
    for (int i = 0; i < 2; ++i) {
        passes(fiber_pool::linger);
        pool_.trim(0, now_); // the second time all have been free for a whole period
    }
    burst(70);
    EXPECT_EQ(trimmed(), 4U);
    EXPECT_EQ(pool_.mapped(), 70U);
}

TEST_F(pool, gives_all_back_where_time_does_not_count) {
    burst(100);
    pool_.trim();
    EXPECT_EQ(pool_.mapped(), keep);
    burst(5);
    pool_.trim();
    EXPECT_EQ(pool_.mapped(), keep);
}

} // namespace
} // namespace weft
