// The lock, the cell, and the list under the lock, one thread at a time.
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include "queue/cell.hpp"
#include "queue/chain.hpp"
#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"

namespace weft::queue {
namespace {

struct item {
    int value = 0;
    list_hook queue_link;
    list_hook other_link;
};

struct other {
    static list_hook& of(item& element) noexcept { return element.other_link; }
};

using list = locked_list<item>;

template <class List>
std::vector<int> drained(List& from) {
    std::vector<int> values;
    while (item* const each = from.pop_front()) values.push_back(each->value);
    return values;
}

struct numbered {
    item items[6];
    numbered() {
        for (int at = 0; at < 6; ++at) items[at].value = at;
    }
    item* operator[](int at) { return &items[at]; }
};

TEST(spin_lock, is_held_until_unlocked) {
    spin_lock<> lock;
    {
        const std::lock_guard held(lock);
        EXPECT_FALSE(lock.try_lock());
    }
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
    EXPECT_EQ(sizeof(lock), 4u);
}

// I1 of cell.hpp.
TEST(cell, holds_numbers_flags_and_enums) {
    enum class mood : std::uint8_t { calm, busy };
    cell<mood> state(mood::calm);
    EXPECT_EQ(state.load_relaxed(), mood::calm);
    mood expected = mood::busy;
    EXPECT_FALSE(state.compare_exchange(expected, mood::busy));
    EXPECT_EQ(expected, mood::calm);
    EXPECT_TRUE(state.compare_exchange(expected, mood::busy));
    EXPECT_EQ(state.exchange(mood::calm), mood::busy);

    cell<double> speed;
    EXPECT_EQ(speed.load_acquire(), 0.0);
    speed.store_release(2.5);
    EXPECT_EQ(speed.load_acquire(), 2.5);

    cell<std::uint64_t> number(6);
    EXPECT_EQ(number.add(10), 6u);
    number.store_relaxed(number.load_relaxed() + 1);
    EXPECT_EQ(number.load_relaxed(), 17u);
}

// I1 and I2 of chain.hpp.
TEST(chain, is_first_in_first_out_and_moves) {
    numbered made;
    chain<item> elements;
    EXPECT_TRUE(elements.empty());
    EXPECT_EQ(elements.pop_front(), nullptr);
    elements.push_back(made[1]);
    elements.push_back(made[2]);
    elements.push_front(made[0]);
    EXPECT_EQ(elements.size(), 3u);
    chain<item> moved = std::move(elements);
    EXPECT_TRUE(elements.empty());
    EXPECT_EQ(moved.front(), made[0]);
    EXPECT_EQ(moved.back(), made[2]);
    EXPECT_EQ(drained(moved), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(moved.back(), nullptr);
}

// I1 of locked_list.hpp.
TEST(locked_list, is_a_queue_and_a_stack) {
    numbered made;
    list elements;
    EXPECT_EQ(elements.pop_front(), nullptr);
    EXPECT_EQ(elements.pop_back(), nullptr);
    elements.push_back(made[2]);
    elements.push_back(made[3]);
    elements.push_front(made[1]);
    elements.push_front(made[0]);
    EXPECT_EQ(elements.size(), 4u);
    EXPECT_EQ(elements.pop_back(), made[3]);
    EXPECT_EQ(elements.pop_front(), made[0]);
    EXPECT_EQ(elements.pop_back(), made[2]);
    EXPECT_EQ(elements.pop_back(), made[1]);
    EXPECT_TRUE(elements.empty());
    EXPECT_EQ(elements.pop_front(), nullptr);
    elements.push_front(made[5]);
    EXPECT_EQ(elements.try_pop_back(), made[5]);
    EXPECT_EQ(elements.try_pop_back(), nullptr);
    EXPECT_EQ(elements.try_pop_front(), nullptr);
}

TEST(locked_list, takes_the_first_wanted_from_anywhere) {
    numbered made;
    list elements;
    for (int at = 0; at < 6; ++at) elements.push_back(made[at]);
    const auto is = [](int value) { return [value](const item& each) { return each.value == value; }; };
    EXPECT_EQ(elements.pop_first_if(is(3)), made[3]);
    EXPECT_EQ(elements.pop_first_if(is(3)), nullptr);
    EXPECT_EQ(elements.pop_first_if(is(0)), made[0]);
    EXPECT_EQ(elements.pop_first_if(is(5)), made[5]);
    EXPECT_EQ(elements.size(), 3u);
    EXPECT_EQ(elements.pop_last_if([](const item& each) { return each.value < 4; }), made[2]);
    EXPECT_EQ(elements.pop_last_if(is(7)), nullptr);
    EXPECT_EQ(elements.pop_back(), made[4]);
    EXPECT_EQ(drained(elements), (std::vector<int>{1}));
}

TEST(locked_list, shows_all_and_takes_the_least) {
    numbered made;
    list elements;
    const auto from_three = [](const item& each) { return std::abs(each.value - 3); };
    EXPECT_EQ(elements.pop_least(from_three), nullptr);
    elements.visit([](const item&) { ADD_FAILURE() << "there is nothing"; });
    for (int at = 0; at < 6; ++at) elements.push_back(made[at]);
    std::vector<int> seen;
    elements.visit([&](const item& each) { seen.push_back(each.value); });
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5}));
    std::vector<int> taken;
    while (const item* const least = elements.pop_least(from_three)) taken.push_back(least->value);
    EXPECT_EQ(taken, (std::vector<int>{3, 2, 4, 1, 5, 0})) << "the first of those that are alike";
    EXPECT_TRUE(elements.empty());
}

TEST(locked_list, takes_in_a_chain_at_once) {
    numbered made;
    list elements;
    chain<item> more;
    elements.push_back(std::move(more));
    EXPECT_TRUE(elements.empty());
    elements.push_back(made[0]);
    for (int at = 1; at < 4; ++at) more.push_back(made[at]);
    elements.push_back(std::move(more));
    EXPECT_EQ(elements.size(), 4u);
    EXPECT_EQ(elements.pop_back(), made[3]);
    EXPECT_EQ(drained(elements), (std::vector<int>{0, 1, 2}));
}

TEST(locked_list, an_element_with_two_hooks_is_in_two_lists) {
    numbered made;
    list one;
    locked_list<item, std_sync, other> two;
    for (int at = 0; at < 3; ++at) {
        one.push_back(made[at]);
        two.push_front(made[at]);
    }
    EXPECT_EQ(drained(one), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(drained(two), (std::vector<int>{2, 1, 0}));
}

} // namespace
} // namespace weft::queue
