// Classes of tasks: their numbers, what is known of their times, and which group of cores each belongs to.
#include "policy/parts/class_history.hpp"
#include "policy/parts/class_table.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/task_clusters.hpp"
#include "task/task_class.hpp"

#include "machine/load.hpp"
#include "machine/speeds.hpp"

#include "policy/fake_context.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <thread>
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

// ---- class_table

TEST(class_table, a_key_keeps_its_number_and_no_other_key_gets_it) {
    class_table table(4);
    ASSERT_EQ(table.capacity(), 16);
    std::set<int> numbers;
    // All of these begin their search at the same place, and at the last one.
    for (std::uint64_t key = 15; numbers.size() < 16; key += 16) {
        EXPECT_EQ(table.find(key), class_table::no_class);
        const int c = table.find_or_add(key);
        ASSERT_TRUE(0 <= c && c < table.capacity()) << c;
        ASSERT_TRUE(numbers.insert(c).second) << "number " << c << " was given out already";
        EXPECT_EQ(table.find_or_add(key), c);
        EXPECT_EQ(table.find(key), c);
        EXPECT_EQ(table.key_of(c), key);
    }
}

TEST(class_table, a_full_one_still_finds_what_it_has_and_adds_nothing) {
    class_table table(1);
    EXPECT_EQ(table.key_of(0), 0U);
    EXPECT_EQ(table.key_of(1), 0U);
    const int a = table.find_or_add(5), b = table.find_or_add(7);
    EXPECT_EQ(table.find_or_add(9), class_table::no_class);
    EXPECT_EQ(table.find(9), class_table::no_class);
    EXPECT_EQ(table.find_or_add(5), a);
    EXPECT_EQ(table.find(7), b);
    class_table one(0);
    ASSERT_EQ(one.capacity(), 1);
    EXPECT_EQ(one.find_or_add(3), 0);
    EXPECT_EQ(one.find(4), class_table::no_class);
}

TEST(class_table, workers_that_meet_a_class_at_the_same_time_agree_on_its_number) {
    constexpr int keys = 256;
    class_table table(8);
    std::array<std::array<int, keys>, 3> got{};
    std::vector<std::thread> workers;
    for (auto& of_worker : got)
        workers.emplace_back([&] {
            for (int k = 0; k < keys; ++k)
                of_worker[static_cast<std::size_t>(k)] =
                    table.find_or_add(static_cast<std::uint64_t>(k + 1) * 64);
        });
    for (std::thread& w : workers) w.join();
    EXPECT_EQ(got[0], got[1]);
    EXPECT_EQ(got[0], got[2]);
    EXPECT_EQ((std::set<int>(got[0].begin(), got[0].end())).size(), std::size_t{keys})
        << "the table is full, and no more";
}

// ---- task_clusters

/// The machine of table 5.5: one fast core, two of half its speed, one of a quarter. A class is known by its key; what a task
/// of it takes on the fast core is said to learn().
class pools_of_classes : public testing::Test {
protected:
    void attach(task_clusters::rules by, int bits = 8) {
        groups_.attach(on_, context_);
        history_.emplace(groups_.speeds(), bits);
        clusters_.attach(groups_, *history_, by);
    }
    /// A task of the class waits; gives its pool.
    int add(std::uint64_t key) {
        test::task_with_bytes& t = tasks_.emplace_back();
        t.hint_.key = key;
        const int pool = clusters_.pool_of(t);
        clusters_.put(pool, t);
        return pool;
    }
    /// A task of the class has ended in each group, in the time that its work takes there.
    void learn(std::uint64_t key, double work) {
        test::task_with_bytes t;
        t.hint_.key = key;
        const auto c = clusters_.class_in(clusters_.pool_of(t));
        for (int g = 0; g < groups_.count(); ++g)
            history_->completed(c, g, static_cast<time_ns>(work / groups_.speed(g)),
                                static_cast<std::uint64_t>(work));
    }
    /// The key of the class of the task that a worker of that group takes; 0: none. `drawn`, modulo the number of pools.
    std::uint64_t take(int group, std::uint32_t drawn = 0) {
        const auto found = clusters_.take(group, [&](std::uint32_t below) {
            bounds_.push_back(below);
            return drawn % below;
        });
        EXPECT_EQ(found.t == nullptr, found.pool < 0);
        return found.t == nullptr ? 0 : found.t->hint().key;
    }
    std::vector<std::uint64_t> take_all(int group) {
        std::vector<std::uint64_t> keys;
        while (const std::uint64_t key = take(group)) keys.push_back(key);
        return keys;
    }
    /// Classes 1, 2 and 3 of descending work, each the cluster of one group: one core has 400 to do, two of half the speed
    /// have 200 each, one of a quarter has 100.
    void divide_in_three(task_clusters::rules by) {
        attach(by);
        learn(1, 400);
        learn(2, 200);
        learn(3, 100);
        for (const std::uint64_t key : {1, 2, 3}) add(key);
        ASSERT_TRUE(clusters_.divide_batch());
        for (int pool = 0; pool < 3; ++pool) ASSERT_EQ(clusters_.cluster_of(pool), pool);
    }

    const machine on_ =
        with_speeds(load_synthetic("pack:1 [numa] l3:1 core:4 pu:1"), std::array{1.0, 0.5, 0.5, 0.25});
    fake_context context_{4};
    core_groups groups_;
    std::optional<class_history> history_;
    task_clusters clusters_;
    std::deque<test::task_with_bytes> tasks_;
    std::vector<std::uint32_t> bounds_;
};

TEST_F(pools_of_classes, have_numbers_in_the_order_in_which_their_classes_came) {
    attach({});
    EXPECT_EQ(add(70), 0);
    EXPECT_EQ(add(30), 1);
    EXPECT_EQ(add(70), 0);
    EXPECT_EQ(add(50), 2);
    EXPECT_EQ(history_->key_of(clusters_.class_in(1)), class_of({.key = 30}, nullptr));
    EXPECT_EQ(clusters_.count(), 3);
    EXPECT_EQ(clusters_.group_of(0), 0);
    EXPECT_EQ(clusters_.group_of(3), 2);
}

TEST_F(pools_of_classes, share_one_for_the_rest_of_very_many_classes) {
    attach({});
    for (int i = 0; i < 300; ++i)
        EXPECT_EQ(add(static_cast<std::uint64_t>(i + 1)), std::min(i, task_clusters::most - 1));
    std::set<std::uint64_t> taken;
    for (int i = 0; i < 300; ++i) taken.insert(take(0));
    EXPECT_EQ(taken.size(), 300U) << "a task is lost, or taken twice";
    EXPECT_EQ(take(0), 0U);
}

TEST_F(pools_of_classes, are_drawn_among_all_that_have_tasks_before_they_are_divided) {
    attach({.own_only = true,
            .guard = true,
            .in_order = true}); // rules for clusters, of which there are none yet
    for (const std::uint64_t key : {1, 2, 3, 1}) add(key);
    EXPECT_FALSE(clusters_.divide_batch()) << "nothing is known of the classes";
    EXPECT_FALSE(clusters_.are_divided());
    EXPECT_EQ(take(2, 1), 2U);
    EXPECT_EQ(take(0, 1), 3U);
    EXPECT_EQ(take(1), 1U); // one pool is left: nothing to draw
    EXPECT_EQ(take(1), 1U);
    EXPECT_EQ(take(1), 0U);
    EXPECT_EQ(bounds_, (std::vector<std::uint32_t>{3, 2}));
}

TEST_F(pools_of_classes,
       of_the_own_cluster_come_first_then_those_of_slower_groups_then_those_of_faster_ones) {
    const std::vector<std::vector<std::uint64_t>> wanted = {{1, 2, 3}, {2, 3, 1}, {3, 2, 1}};
    divide_in_three({});
    for (int g = 0; g < 3; ++g) {
        EXPECT_EQ(take_all(g), wanted[static_cast<std::size_t>(g)]) << g;
        for (const std::uint64_t key : {1, 2, 3}) add(key);
    }
}

TEST_F(pools_of_classes, a_division_says_whether_it_has_changed_anything) {
    attach({});
    learn(1, 400);
    learn(2, 300);
    learn(3, 100);
    learn(4, 50);
    for (const std::uint64_t key : {1, 2, 3, 4}) add(key);
    EXPECT_TRUE(clusters_.divide_batch()) << "{1} {2, 3} {4}: 400, 400 and 200";
    EXPECT_EQ(clusters_.cluster_of(1), 1);
    EXPECT_FALSE(clusters_.divide_batch());
    add(4);
    EXPECT_FALSE(clusters_.divide_batch()) << "still the best";
    for (int i = 0; i < 20; ++i) add(3);
    EXPECT_TRUE(clusters_.divide_batch()) << "{1, 2} {3} {4}: 700, 2100 and 400";
    EXPECT_EQ(clusters_.cluster_of(1), 0);
    EXPECT_FALSE(clusters_.divide_batch());
    add(9); // of which nothing is known
    EXPECT_TRUE(clusters_.divide_batch()) << "it has given up";
    EXPECT_FALSE(clusters_.are_divided());
    EXPECT_FALSE(clusters_.divide_batch());
}

TEST_F(pools_of_classes, without_batches_a_class_counts_by_the_tasks_that_have_ended) {
    attach({});
    add(3); // waits, and none of its class has ended
    learn(1, 400);
    learn(2, 200);
    EXPECT_TRUE(clusters_.divide_history()) << "a class of which no task has ended does not count";
    EXPECT_TRUE(clusters_.are_divided());
    EXPECT_TRUE(clusters_.divide_batch()) << "there it does, and its time is not known";
    EXPECT_FALSE(clusters_.are_divided());
}

TEST_F(pools_of_classes, a_worker_that_takes_of_its_own_cluster_only_leaves_the_others_alone) {
    divide_in_three({.own_only = true});
    EXPECT_EQ(take_all(1), (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(take_all(0), (std::vector<std::uint64_t>{1}));
    EXPECT_EQ(take_all(2), (std::vector<std::uint64_t>{3}));
}

/// A task of class 1 takes 400 on its own group and 800 on the next one: two of them must wait before that one helps.
TEST_F(pools_of_classes, a_slower_core_helps_only_if_the_other_group_would_take_longer_for_all_that_waits) {
    divide_in_three({.guard = true});
    EXPECT_EQ(take(1), 2U);
    EXPECT_EQ(take(1), 3U) << "a slower group is always helped";
    EXPECT_EQ(take(1), 0U) << "800 here, 400 there";
    add(1);
    EXPECT_EQ(take(1), 1U) << "800 here, 800 there";
    EXPECT_EQ(take(1), 0U);
    EXPECT_EQ(take(2), 0U);
    EXPECT_EQ(take(0), 1U);
}

TEST_F(pools_of_classes, in_order_the_longest_tasks_of_a_cluster_come_first) {
    attach({.in_order = true});
    learn(4, 50); // the order of work is not that of the pools
    learn(1, 4000);
    learn(2, 60);
    learn(3, 70);
    for (const std::uint64_t key : {1, 2, 3, 4, 2}) add(key);
    ASSERT_TRUE(clusters_.divide_batch()); // {1} {3, 2} {4}
    EXPECT_EQ(take_all(1), (std::vector<std::uint64_t>{3, 2, 2, 4, 1}));
    EXPECT_TRUE(bounds_.empty()) << "drawn where there is an order";
}

TEST_F(pools_of_classes, workers_that_meet_a_class_at_the_same_time_agree_on_its_pool) {
    attach({});
    constexpr int classes = 2 * task_clusters::most;
    std::array<std::array<int, classes>, 3> got{};
    std::vector<std::thread> workers;
    for (auto& of_worker : got)
        workers.emplace_back([&] {
            for (int k = 0; k < classes; ++k) {
                test::task_with_bytes t;
                t.hint_.key = static_cast<std::uint64_t>(k + 1);
                of_worker[static_cast<std::size_t>(k)] = clusters_.pool_of(t);
            }
        });
    for (std::thread& w : workers) w.join();
    EXPECT_EQ(got[0], got[1]);
    EXPECT_EQ(got[0], got[2]);
    EXPECT_EQ((std::set<int>(got[0].begin(), got[0].end())).size(), std::size_t{task_clusters::most});
}

} // namespace
} // namespace weft::test
