// When a batch is complete: src/policy/parts/batch_gate.hpp.
#include "policy/parts/batch_gate.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using part = batch_gate::task_part;

/// B1 of batch_gate.hpp.
TEST(batch_gate, is_closed_while_some_task_adds_to_some_group) {
    batch_gate gate;
    part a{}, b{};
    EXPECT_TRUE(gate.is_open());
    gate.begins(a);
    gate.begins(a);
    gate.begins(b);
    EXPECT_FALSE(gate.waits(a));
    EXPECT_FALSE(gate.waits(b));
    EXPECT_FALSE(gate.is_open());
    EXPECT_TRUE(gate.waits(a));
    EXPECT_TRUE(gate.is_open());
    EXPECT_FALSE(gate.waits(a)) << "a wait without children opens nothing";
    gate.begins(b);
    EXPECT_FALSE(gate.is_open());
}

TEST(batch_gate, a_task_that_stops_leaves_all_its_groups) {
    batch_gate gate;
    part a{}, b{};
    gate.begins(a);
    gate.begins(a);
    gate.begins(b);
    EXPECT_FALSE(gate.stops(a));
    EXPECT_FALSE(gate.stops(a));
    EXPECT_TRUE(gate.stops(b));
    EXPECT_FALSE(gate.waits(a)) << "it adds to none any more";
    EXPECT_TRUE(gate.is_open());
}

/// B3 of batch_gate.hpp: a task that is put before the opening is kept; after it, another worker must be woken.
TEST(batch_gate, keeps_tasks_until_it_opens) {
    batch_gate gate;
    part a{};
    EXPECT_FALSE(gate.keeps());
    gate.begins(a);
    EXPECT_TRUE(gate.keeps());
    EXPECT_TRUE(gate.waits(a));
    EXPECT_FALSE(gate.keeps());
}

TEST(batch_gate, opens_at_a_tick_when_nothing_was_added_for_some_time) {
    batch_gate gate;
    part a{};
    gate.begins(a);
    gate.added();
    for (int i = 0; i < 10; ++i) {
        EXPECT_FALSE(gate.tick());
        gate.added();
    }
    EXPECT_FALSE(gate.tick());
    for (int i = 1; i < batch_gate::patience; ++i) EXPECT_FALSE(gate.tick());
    EXPECT_TRUE(gate.tick());
    EXPECT_TRUE(gate.is_open());
    EXPECT_FALSE(gate.waits(a)) << "what it had counted is void";
    gate.begins(a);
    EXPECT_FALSE(gate.is_open());
    EXPECT_TRUE(gate.waits(a));
}

TEST(batch_gate, a_gate_that_was_given_up_never_closes) {
    batch_gate gate;
    part a{};
    gate.begins(a);
    gate.give_up();
    EXPECT_TRUE(gate.is_open());
    EXPECT_FALSE(gate.keeps());
    gate.begins(a);
    EXPECT_TRUE(gate.is_open());
    EXPECT_FALSE(gate.stops(a));
}

} // namespace
} // namespace weft
