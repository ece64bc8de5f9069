// The serial stages of a pipeline, in one thread: which item has the stage, which waits, and in which order they go on.
#include "pipeline/turns.hpp"
#include "pipeline/turnstile.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

namespace weft {
namespace {

struct alignas(16) item {
    queue::list_hook queue_link{};
};

TEST(pipeline_turns, an_item_that_comes_early_waits_for_its_turn) {
    pipelines::turns<item> t;
    t.reset(3);
    std::array<item, 3> i;
    EXPECT_FALSE(t.enter(i[2], 2));
    EXPECT_FALSE(t.enter(i[1], 1));
    EXPECT_TRUE(t.enter(i[0], 0));
    EXPECT_EQ(t.leave(0), &i[1]);
    EXPECT_EQ(t.leave(1), &i[2]);
    EXPECT_EQ(t.leave(2), nullptr);
    EXPECT_TRUE(t.enter(i[0], 3)); // the turn was open
}

TEST(pipeline_turns, cells_are_used_again_and_again) {
    pipelines::turns<item> t;
    t.reset(2);
    std::array<item, 2> i;
    for (std::uint64_t n = 0; n < 1000; n += 2) {
        EXPECT_FALSE(t.enter(i[1], n + 1));
        EXPECT_TRUE(t.enter(i[0], n));
        EXPECT_EQ(t.leave(n), &i[1]);
        EXPECT_EQ(t.leave(n + 1), nullptr);
    }
    t.reset(5); // more of them, from the beginning
    EXPECT_TRUE(t.enter(i[0], 0));
}

TEST(pipeline_turnstile, items_leave_in_the_order_in_which_they_came) {
    pipelines::turnstile<item> t;
    std::array<item, 6> i;
    EXPECT_TRUE(t.enter(i[0]));
    for (std::size_t k = 1; k < 4; ++k) EXPECT_FALSE(t.enter(i[k]));
    EXPECT_EQ(t.leave(), &i[1]);
    EXPECT_FALSE(t.enter(i[4])); // behind those that waited before
    EXPECT_FALSE(t.enter(i[5]));
    for (std::size_t k = 2; k < 6; ++k) EXPECT_EQ(t.leave(), &i[k]);
    EXPECT_EQ(t.leave(), nullptr);
    EXPECT_TRUE(t.enter(i[0])); // it was free
}

TEST(pipeline_turnstile, may_be_held_from_the_beginning) {
    pipelines::turnstile<item> t;
    std::array<item, 3> i;
    queue::chain<item> waiting;
    waiting.push_back(&i[0]);
    waiting.push_back(&i[1]);
    t.reset(true, std::move(waiting));
    EXPECT_FALSE(t.enter(i[2]));
    for (item& each : i) EXPECT_EQ(t.leave(), &each);
    EXPECT_EQ(t.leave(), nullptr);
}

} // namespace
} // namespace weft
