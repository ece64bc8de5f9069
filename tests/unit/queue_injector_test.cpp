// The inbox, one thread at a time.
#include <gtest/gtest.h>

#include <vector>

#include "queue/injector.hpp"
#include "queue/locked_list.hpp"

namespace weft::queue {
namespace {

struct message {
    int value = 0;
    list_hook queue_link;
};

// I1 of injector.hpp.
TEST(injector, hands_out_everything_oldest_first) {
    message messages[3];
    injector<message> inbox;
    EXPECT_TRUE(inbox.empty());
    EXPECT_TRUE(inbox.take_all().empty());
    EXPECT_TRUE(inbox.push(&messages[0]));
    EXPECT_FALSE(inbox.push(&messages[1]));
    EXPECT_FALSE(inbox.push(&messages[2]));
    EXPECT_FALSE(inbox.empty());
    auto taken = inbox.take_all();
    EXPECT_TRUE(inbox.empty());
    EXPECT_EQ(taken.size(), 3u);
    for (message& each : messages) EXPECT_EQ(taken.pop_front(), &each);
    EXPECT_EQ(taken.pop_front(), nullptr);
}

TEST(injector, an_element_can_go_in_again) {
    message one;
    injector<message> inbox;
    for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(inbox.push(&one));
        auto taken = inbox.take_all();
        EXPECT_EQ(taken.pop_front(), &one);
        EXPECT_TRUE(taken.empty());
    }
}

TEST(injector, what_was_taken_goes_into_a_list_in_its_order) {
    message messages[4];
    injector<message> inbox;
    locked_list<message> list;
    list.push_back(&messages[0]);
    for (int at = 1; at < 4; ++at) inbox.push(&messages[at]);
    list.push_back(inbox.take_all());
    for (message& each : messages) EXPECT_EQ(list.pop_front(), &each);
}

} // namespace
} // namespace weft::queue
