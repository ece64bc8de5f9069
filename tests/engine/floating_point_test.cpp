// Floating-point modes belong to the code on a stack: what a task sets stays with it across waits and on other workers, a child
// that starts on top of its parent starts with the parent's, and every other task with those of the runtime.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

// What the hardware does, whatever the control words say.
bool rounds_up() {
    volatile double one = 1, third = 3;
    const double q = one / third;
    return q * 3 > 1 || q > 0.33333333333333331;
}

class rounding : public testing::TestWithParam<test::setup> {
protected:
    void TearDown() override { EXPECT_EQ(std::fegetround(), FE_TONEAREST); }
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, rounding,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(rounding, stays_with_a_task_that_waits) {
    std::atomic<int> wrong{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 40; ++i) {
            g.run([&wrong, up = i % 2 == 0] {
                std::fesetround(up ? FE_UPWARD : FE_TONEAREST);
                for (int k = 0; k < 10; ++k) {
                    this_task::yield();
                    task_group inner;
                    inner.run([] { this_task::yield(); });
                    inner.wait();
                    if (std::fegetround() != (up ? FE_UPWARD : FE_TONEAREST) || rounds_up() != up) ++wrong;
                }
                std::fesetround(FE_TONEAREST);
            });
        }
        g.wait();
    });
    EXPECT_EQ(wrong, 0);
}

// A task may end in a mode that it has set.
TEST_P(rounding, of_one_task_is_none_of_the_next) {
    std::atomic<int> wrong{0};
    for (int i = 0; i < 20; ++i)
        rt_.run([&, i] {
            if (std::fegetround() != FE_TONEAREST || rounds_up()) ++wrong;
            if (i % 2 == 0) std::fesetround(FE_UPWARD);
        });
    EXPECT_EQ(wrong, 0);
}

TEST(rounding_of_a_child, is_that_of_the_parent_below_it) {
    runtime rt({.workers = 1, .policy = "steal"});
    bool child = false, parent = false;
    rt.run([&] {
        std::fesetround(FE_UPWARD);
        task_group g;
        g.run([&] {
            child = rounds_up();
            std::fesetround(FE_DOWNWARD);
        });
        parent = rounds_up();
        g.wait();
        std::fesetround(FE_TONEAREST);
    });
    EXPECT_TRUE(child);
    EXPECT_TRUE(parent);
}

} // namespace
} // namespace weft
