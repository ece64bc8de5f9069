// The mailbox, one thread at a time.
#include <gtest/gtest.h>

#include "queue/cache_line.hpp"
#include "queue/mailbox.hpp"

namespace weft::queue {
namespace {

struct item {
    list_hook queue_link;
};

TEST(mailbox, of_one_element_is_put_and_taken) {
    item letter;
    mailbox<item> box;
    for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(box.empty());
        EXPECT_EQ(box.take(), nullptr);
        EXPECT_TRUE(box.put(&letter));
        EXPECT_FALSE(box.empty());
        EXPECT_EQ(box.take(), &letter);
    }
    EXPECT_TRUE(box.empty());
}

// I1 of mailbox.hpp.
TEST(mailbox, of_several_loses_none_and_keeps_their_order) {
    item letters[5];
    mailbox<item> box;
    EXPECT_TRUE(box.put(&letters[0]));
    EXPECT_FALSE(box.put(&letters[1]));
    EXPECT_FALSE(box.put(&letters[2]));
    EXPECT_EQ(box.take(), &letters[0]);
    // Two are at hand: what comes now comes after them, and is looked for although they were not taken.
    EXPECT_TRUE(box.put(&letters[3]));
    EXPECT_FALSE(box.put(&letters[4]));
    for (int at = 1; at < 5; ++at) {
        EXPECT_FALSE(box.empty());
        EXPECT_EQ(box.take(), &letters[at]);
    }
    EXPECT_TRUE(box.empty());
    EXPECT_EQ(box.take(), nullptr);
}

TEST(mailbox, keeps_to_a_line_of_its_own) { EXPECT_EQ(alignof(mailbox<item>), k_cache_line_bytes); }

} // namespace
} // namespace weft::queue
