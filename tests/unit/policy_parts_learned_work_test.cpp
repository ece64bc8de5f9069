// The time that tasks and groups took when they ran last, by their paths.
#include "policy/parts/learned_work.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace weft {
namespace {

using place = learned_work::place;

class work_of_places : public testing::Test {
protected:
    work_of_places() { work.attach(); }
    learned_work work;
    static constexpr place root = learned_work::root;
};

TEST(learned_work, is_on_once_it_is_attached) {
    learned_work work;
    EXPECT_FALSE(work.is_on());
    work.attach();
    EXPECT_TRUE(work.is_on());
}

TEST_F(work_of_places, a_path_is_a_place) {
    const place loop = work.below(root, "loop", -1);
    const std::vector<place> others = {
        work.below(root, "other loop", -1), work.below(root, "", -1), work.below(root, "loop", 0),
        work.below(loop, "loop", -1),       work.below(loop, "", 0),  work.below(loop, "", 1)};
    std::set<place> all(others.begin(), others.end());
    all.insert({loop, root, 0});
    EXPECT_EQ(all.size(), others.size() + 3) << "two paths have one place";
    EXPECT_EQ(work.below(root, "loop", -1), loop);
    EXPECT_EQ(work.below(loop, "", 1), others.back());
}

TEST_F(work_of_places, a_place_knows_what_it_took_the_last_time) {
    const place task = work.below(root, "task", 0);
    EXPECT_EQ(work.begin(task), 0) << "nothing is known";
    work.add(task, 30);
    work.add(task, 12);
    EXPECT_EQ(work.begin(task), 42);
    work.add(task, 5);
    EXPECT_EQ(work.begin(task), 5) << "the last time, not the sum";
    EXPECT_EQ(work.begin(task), 5) << "no time was spent: what is known stays";
}

TEST_F(work_of_places, a_place_has_the_work_of_its_whole_subtree) {
    const place outer = work.below(root, "outer", -1), inner = work.below(outer, "", 0);
    const place leaf = work.below(inner, "leaf", 3), beside = work.below(outer, "", 1);
    work.add(leaf, 100);
    work.add(inner, 10);
    work.add(beside, 1);
    EXPECT_EQ(work.begin(leaf), 100);
    EXPECT_EQ(work.begin(inner), 110);
    EXPECT_EQ(work.begin(beside), 1);
    EXPECT_EQ(work.begin(outer), 111);
    EXPECT_EQ(work.begin(root), 111);
}

TEST_F(work_of_places, no_place_has_nothing_below_it_and_learns_nothing) {
    EXPECT_EQ(work.below(0, "task", 0), 0U);
    work.add(0, 100);
    EXPECT_EQ(work.begin(0), 0);
    EXPECT_EQ(work.begin(root), 0);
}

TEST_F(work_of_places, a_full_table_keeps_what_it_has_and_takes_no_more) {
    const place first = work.below(root, "first", 0);
    std::set<place> all = {0, root, first};
    int without = 0;
    for (int i = 0; i < 8 * static_cast<int>(learned_work::size); ++i) {
        const place p = work.below(root, "task", i);
        if (p == 0)
            ++without;
        else
            EXPECT_TRUE(all.insert(p).second) << "two tasks have place " << p;
    }
    EXPECT_GT(without, 6 * static_cast<int>(learned_work::size));
    EXPECT_LE(*all.rbegin(), learned_work::size - 1);
    EXPECT_EQ(work.below(root, "first", 0), first);
    work.add(first, 7);
    EXPECT_EQ(work.begin(first), 7);
}

} // namespace
} // namespace weft
