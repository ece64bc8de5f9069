#include "policy/parts/class_history.hpp"
#include "policy/parts/core_groups.hpp"
#include "task/task_class.hpp"

#include "machine/load.hpp"

#include "policy/fake_context.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft::test {
namespace {

/// In thousandths of the book's units, so that rates of two digits are whole numbers of instructions.
class book_history : public ::testing::Test {
protected:
    void ends(int group, double time, double ipc) {
        const auto ns = static_cast<time_ns>(time * 9000);
        all.completed(f, group, ns, static_cast<std::uint64_t>(ipc * static_cast<double>(ns) + 0.5));
    }
    double time(int group) const { return *all.time(f, group) / 9000; }

    class_history all{{1.0, 0.5}};
    const class_history::class_id f = all.find_or_add(7);
};

// TC(ipc 2.0; n 4,1; t 10,18), as four tasks in G_1 and one in G_2 make it: 18 = 10 * 2.0 / ipc_g.
TEST_F(book_history, is_updated_by_equations_5_3_and_5_4) {
    for (int i = 0; i < 4; ++i) ends(0, 10, 2.0);
    ends(1, 99, 20.0 / 18);
    EXPECT_NEAR(time(0), 10, 1e-9);
    EXPECT_NEAR(time(1), 18, 1e-3);

    ends(0, 15, 1.5);
    EXPECT_NEAR(*all.ipc(f), 1.9, 1e-9);
    EXPECT_EQ(all.count(f, 0), 5u);
    EXPECT_EQ(all.count(f, 1), 1u);
    EXPECT_NEAR(time(0), 11, 1e-9);
    EXPECT_NEAR(time(1), 18, 1e-3); // what ended in G_1 leaves t_2 alone

    ends(1, 77, 1.0);
    EXPECT_EQ(all.count(f, 1), 2u);
    EXPECT_NEAR(time(1), 19.45, 1e-3);
    EXPECT_NEAR(*all.ipc(f), 1.9, 1e-9); // of G_1
    EXPECT_EQ(all.source(f), class_history::rate_source::instructions);
}

TEST_F(book_history, has_the_batch_form_of_equation_5_5) {
    for (int i = 0; i < 4; ++i) ends(0, 10, 2.0);
    ends(0, 15, 1.5);
    ends(1, 50, 1.0);
    ends(1, 60, 0.9);
    EXPECT_NEAR(*all.batch_time(f, 0) / 9000, 11, 1e-9);
    EXPECT_NEAR(*all.batch_time(f, 1) / 9000, 22.0, 1e-9);
}

// n_1 = 0: Equation 5.4 would multiply by a time and a rate that are not known yet.
TEST_F(book_history, waits_for_the_fastest_group_before_it_uses_rates) {
    ends(1, 40, 1.0);
    EXPECT_NEAR(time(1), 40, 1e-9);
    EXPECT_FALSE(all.time(f, 0).has_value());
    EXPECT_FALSE(all.ipc(f).has_value());
    EXPECT_FALSE(all.batch_time(f, 1).has_value());
    ends(0, 10, 2.0);
    EXPECT_NEAR(time(1), 20, 1e-9);
}

TEST(class_history, uses_the_speed_of_cores_where_instructions_are_not_counted) {
    class_history all({1.0, 0.32});
    const auto f = all.find_or_add(1);
    all.completed(f, 0, 1000, std::nullopt);
    all.completed(f, 1, 5000, std::nullopt);
    EXPECT_EQ(all.source(f), class_history::rate_source::speed);
    EXPECT_DOUBLE_EQ(*all.time(f, 1), 3125);
    EXPECT_DOUBLE_EQ(*all.batch_time(f, 1), 3125);
    all.completed(f, 0, 3000, 3000); // one count among tasks without: the speed goes on to serve
    EXPECT_EQ(all.source(f), class_history::rate_source::speed);
    EXPECT_DOUBLE_EQ(*all.time(f, 0), 2000);
    EXPECT_EQ(all.count(f), 3u);
}

TEST(class_history, keeps_classes_apart_until_its_table_is_full) {
    class_history all({1.0}, 1);
    const auto a = all.find_or_add(8), b = all.find_or_add(10);
    EXPECT_NE(a, b);
    EXPECT_EQ(all.find_or_add(8), a);
    EXPECT_EQ(all.find_or_add(12), class_history::no_class);
    all.completed(class_history::no_class, 0, 10, 10); // is left out
    EXPECT_FALSE(all.time(class_history::no_class, 0).has_value());
    EXPECT_EQ(all.key_of(b), 10u);
}

TEST(task_class, is_the_name_then_the_key_then_the_code) {
    const auto one = +[](void*) { static_cast<void>(1); };
    const auto two = +[](void*) { static_cast<void>(2); };
    EXPECT_EQ(class_of({.name = "f"}, one), class_of({.name = "f"}, two));
    EXPECT_NE(class_of({.name = "f"}, one), class_of({.name = "g"}, one));
    EXPECT_EQ(class_of({.key = 5}, one), class_of({.key = 5}, two));
    EXPECT_NE(class_of({.key = 5}, one), class_of({.key = 6}, one));
    EXPECT_NE(class_of({.name = "f", .key = 5}, one), class_of({.name = "f", .key = 6}, one));
    EXPECT_EQ(class_of({}, one), class_of({.work = 3}, one));
    EXPECT_NE(class_of({}, nullptr), 0u);
}

TEST(core_groups, follow_the_cores_of_the_workers) {
    const machine m = load_machine(WEFT_SOURCE_DIR "/machines/opteron-8380-a-4-4-4-4.toml");
    fake_context context(m.size());
    core_groups groups;
    groups.attach(m, context);
    ASSERT_EQ(groups.count(), 4);
    EXPECT_DOUBLE_EQ(groups.speed(0), 1.0);
    for (int g = 0; g < 4; ++g) EXPECT_EQ(groups.workers_in(g), 4);
    const worker_id fast = 0;
    worker_id slow = 0;
    while (groups.of(slow) != 3) ++slow;
    EXPECT_TRUE(groups.is_faster(fast, slow));
    std::swap(context.cores[static_cast<std::size_t>(fast)], context.cores[static_cast<std::size_t>(slow)]);
    EXPECT_TRUE(groups.is_faster(slow, fast));
    EXPECT_EQ(groups.of(fast), 3);
}

TEST(core_groups, a_task_for_some_groups_is_told_to_all_of_their_runs) {
    const machine m = load_machine(WEFT_SOURCE_DIR "/machines/opteron-8380-a-4-4-4-4.toml");
    fake_context context(m.size());
    core_groups groups;
    groups.attach(m, context);
    EXPECT_FALSE(groups.are_equal());
    const placement one = groups.for_those(7, [&](worker_id w) { return groups.of(w) == groups.slowest(); });
    EXPECT_EQ(one.at, 7);
    EXPECT_EQ(one.who.first, 12);
    EXPECT_EQ(one.who.last, 16);
    EXPECT_TRUE(context.woken.empty());
    const placement two = groups.for_those(7, [&](worker_id w) { return groups.of(w) % 2 == 0; });
    EXPECT_EQ(two.who.last, 4);
    ASSERT_EQ(context.woken.size(), 1u);
    EXPECT_EQ(context.woken[0].first, 8);
    context.draws = {2, 1};
    EXPECT_EQ(groups.draw(0, 1, context.all()), 6); // the third of group 1
    EXPECT_EQ(context.bounds.back(), 4u);
    EXPECT_EQ(groups.draw(0, 1, {0, 6}), 5) << "of two that are among these";
    EXPECT_EQ(context.bounds.back(), 2u);
}

TEST(core_groups, are_those_of_cores_with_workers) {
    const machine m = load_machine(WEFT_SOURCE_DIR "/machines/opteron-8380-a-4-4-4-4.toml");
    fake_context context(1);
    core_groups groups;
    groups.attach(m, context);
    EXPECT_EQ(groups.count(), 1);
    EXPECT_EQ(groups.of_core(m.size() - 1), 0);
}

} // namespace
} // namespace weft::test
