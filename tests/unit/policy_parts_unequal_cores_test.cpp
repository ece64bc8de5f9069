// The rules of schedulers for unequal cores, without a policy around them: the vectors of the book and those that follow from
// its formulas; and which workers change cores.
#include "policy/fake_context.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/core_snatching.hpp"
#include "policy/parts/fast_cores.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/parts/longest_first.hpp"
#include "policy/parts/snatching.hpp"
#include "policy/parts/thread_speed.hpp"
#include "policy/parts/utility_factor.hpp"

#include "machine/load.hpp"
#include "machine/speeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace weft::test {
namespace {

TEST(utility_factor, of_the_book) {
    EXPECT_DOUBLE_EQ(utility_factor(2, 1, 1), 2);
    EXPECT_DOUBLE_EQ(utility_factor(2, 2, 1), 0.5);
    EXPECT_DOUBLE_EQ(utility_factor(2, 2, 2), 2);
    EXPECT_NEAR(utility_factor(2, 4, 2), 0.2222, 5e-5);
    EXPECT_NEAR(utility_factor(1.8, 8, 4), 0.072, 5e-7);
    EXPECT_NEAR(utility_factor(3, 3, 1), 0.3333, 5e-5);
    // One fast core: the application of two threads comes first only if its speedup is more than four times as large.
    EXPECT_GT(utility_factor(4.01, 2, 1), utility_factor(1, 1, 1));
    EXPECT_LT(utility_factor(3.99, 2, 1), utility_factor(1, 1, 1));
}

TEST(utility_factor, makes_classes_by_two_thresholds) {
    EXPECT_EQ(utility_class_of(0.1, 0.5, 1), utility_class::low);
    EXPECT_EQ(utility_class_of(0.5, 0.5, 1), utility_class::medium);
    EXPECT_EQ(utility_class_of(1, 0.5, 1), utility_class::medium);
    EXPECT_EQ(utility_class_of(1.1, 0.5, 1), utility_class::high);
}

std::vector<int> assigned(const std::vector<double>& left, const std::vector<double>& speeds) {
    std::vector<int> cores(left.size());
    std::vector<double> room(speeds.size());
    assign_longest_first(left, speeds, cores, room);
    return cores;
}

TEST(longest_first, algorithm_7) {
    EXPECT_EQ(assigned({10, 8, 6, 4, 2}, {2, 1, 1}), (std::vector{0, 1, 2, 0, 2}));
    EXPECT_EQ(assigned({10, 8, 3, 3}, {8, 1, 1}),
              (std::vector{0, 0, 1, 2})); // the last two by the rule for bare cores
    EXPECT_EQ(assigned({5, 3}, {4, 2, 1}), (std::vector{0, 1}));
    EXPECT_EQ(assigned({}, {4, 2, 1}), (std::vector<int>{}));
    EXPECT_EQ(assigned({3, 2, 1}, {1}), (std::vector{0, 0, 0}));
}

TEST(longest_first, leaves_no_core_bare_if_there_are_threads_enough) {
    for (std::size_t threads = 4; threads < 12; ++threads) {
        std::vector<double> left;
        for (std::size_t t = 0; t < threads; ++t) left.push_back(1000.0 / static_cast<double>(t * t + 1));
        const auto cores = assigned(left, {100, 1, 1, 1});
        for (int c = 0; c < 4; ++c) EXPECT_EQ(std::ranges::count(cores, c) > 0, true) << threads << ' ' << c;
    }
}

TEST(thread_speed, pulls_from_the_slowest_core_below_the_mean) {
    const std::array<bool, 4> none{};
    const std::array<double, 4> speeds{1, 0.5, 0.33, 0.9};
    EXPECT_EQ(core_to_pull_from(0, speeds, none), 2);
    EXPECT_EQ(core_to_pull_from(2, speeds, none), -1);
    EXPECT_EQ(core_to_pull_from(0, speeds, std::array<bool, 4>{false, false, true, false}), 1);
    EXPECT_EQ(core_to_pull_from(0, std::array<double, 4>{1, 1, 1, 1}, none), -1);
    EXPECT_DOUBLE_EQ(thread_speed(30, 100), 0.3);
    EXPECT_DOUBLE_EQ(thread_speed(30, 100, 0.5), 0.15);
}

// The book's possible speedup of 1/(2T) leaves out that M cores do no more than M.
TEST(thread_speed, the_promise_of_the_book_and_what_the_cores_can_do) {
    const double gains[] = {0.5, 0.25, 1.0 / 6};
    for (int few = 1; few <= 3; ++few) {
        const speed_analysis of{.threads = 2 * few + 1, .cores = 2};
        EXPECT_NEAR(of.promised_gain(), gains[few - 1], 1e-12);
        EXPECT_NEAR(of.promised_gain(), 1.0 / (2 * few), 1e-12);
    }
    const speed_analysis three_on_two{.threads = 3, .cores = 2};
    EXPECT_DOUBLE_EQ(three_on_two.promised(), 0.75);
    EXPECT_DOUBLE_EQ(three_on_two.attainable(), 2.0 / 3);
    EXPECT_NEAR(three_on_two.attainable_gain(), 1.0 / 3, 1e-12);
}

// ---- snatching

TEST(snatching, a_task_that_has_just_begun_is_run_again_from_its_beginning) {
    EXPECT_DOUBLE_EQ(part_left(0, 80), 1);
    EXPECT_DOUBLE_EQ(end_of_snatched(0, 80, 20, 5), 25);
    EXPECT_DOUBLE_EQ(break_even_of_snatch(0, 80, 20), 60);
}

TEST(snatching, of_a_task_at_its_end_nothing_is_left_and_no_exchange_pays) {
    EXPECT_DOUBLE_EQ(part_left(80, 80), 0);
    EXPECT_DOUBLE_EQ(end_of_snatched(80, 80, 20, 5), 85);
    EXPECT_DOUBLE_EQ(break_even_of_snatch(80, 80, 20), 0);
}

TEST(snatching, between_cores_of_one_speed_no_exchange_pays) {
    EXPECT_DOUBLE_EQ(break_even_of_snatch(30, 80, 80), 0);
    EXPECT_DOUBLE_EQ(end_of_snatched(30, 80, 80, 0), 80);
}

/// Whether it pays is said twice: by the end of the task, and by what the exchange may cost.
TEST(snatching, pays_exactly_if_the_exchange_costs_less_than_the_break_even) {
    for (const double slow : {10.0, 80.0, 1000.0})
        for (const double faster : {0.1, 0.5, 0.9})
            for (const double done : {0.0, 0.25, 0.75}) {
                const double after = done * slow, fast = faster * slow;
                const double even = break_even_of_snatch(after, slow, fast);
                EXPECT_NEAR(end_of_snatched(after, slow, fast, even), slow, 1e-9 * slow);
                EXPECT_LT(end_of_snatched(after, slow, fast, 0.99 * even), slow);
                EXPECT_GT(end_of_snatched(after, slow, fast, 1.01 * even), slow);
            }
}

// ---- fast_cores

/// Six cores of three speeds, and a worker on each.
class cores_to_give : public testing::Test {
protected:
    cores_to_give() { groups.attach(on, context); }

    std::vector<int> groups_of(const std::vector<worker_id>& order) const {
        std::vector<int> found;
        for (const worker_id w : order) found.push_back(groups.of(w));
        return found;
    }

    const machine on = with_speeds(load_synthetic("pack:1 [numa] l3:1 core:6 pu:1"),
                                   std::array{1.0, 1.0, 0.5, 0.5, 0.5, 0.25});
    fake_context context{6};
    core_groups groups;
};

TEST_F(cores_to_give, go_to_the_workers_in_their_order_and_one_with_its_due_keeps_its_core) {
    const std::vector<int> due{0, 0, 1, 1, 1, 2};
    std::vector<worker_id> order(6);
    std::iota(order.begin(), order.end(), 0);
    do {
        const std::vector<int> before = context.cores, had = groups_of(order);
        context.exchanged.clear();
        const int exchanges = give_fast_cores(context, groups, order);
        ASSERT_EQ(groups_of(order), due);
        int misplaced = 0;
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto w = static_cast<std::size_t>(order[i]);
            if (had[i] == due[i])
                ASSERT_EQ(context.cores[w], before[w]) << "moved without need";
            else
                ++misplaced;
        }
        ASSERT_EQ(static_cast<std::size_t>(exchanges), context.exchanged.size());
        ASSERT_LE(exchanges,
                  std::max(misplaced - 1, 0)); // the last exchange puts both of its workers in place
    } while (std::ranges::next_permutation(order).found);
}

TEST_F(cores_to_give, are_left_as_they_are_if_the_engine_refuses) {
    context.can_exchange = false;
    EXPECT_EQ(give_fast_cores(context, groups, std::vector<worker_id>{5, 4, 3, 2, 1, 0}), 0);
    EXPECT_EQ(context.exchanged.size(), 1U) << "asked again after a refusal";
}

// ---- core_snatching

/// Two fast cores, one of half and one of a quarter of their speed; worker w is on core w.
class snatching_of_cores : public testing::Test {
protected:
    snatching_of_cores() {
        groups.attach(on, context);
        context.runs.resize(4);
        cores.attach(groups, context);
    }
    void runs(worker_id w, std::uint64_t id) {
        context.runs[static_cast<std::size_t>(w)] = {.busy = true, .id = id};
    }
    /// The size of a task is its id.
    bool snatch(worker_id w) {
        return cores.snatch(w, [](const snapshot& s) { return static_cast<double>(s.id); });
    }
    std::vector<worker_id> woken() const {
        std::vector<worker_id> all;
        for (const workers each : context.woken)
            for (worker_id w = each.first; w < each.last; ++w) all.push_back(w);
        return all;
    }

    const machine on =
        with_speeds(load_synthetic("pack:1 [numa] l3:1 core:4 pu:1"), std::array{1.0, 1.0, 0.5, 0.25});
    fake_context context{4};
    core_groups groups;
    core_snatching cores;
};

using exchanges = std::vector<std::pair<worker_id, worker_id>>;

TEST_F(snatching_of_cores, takes_over_the_largest_task_of_a_slower_core) {
    runs(1, 99); // as fast as the thief
    for (const worker_id largest : {2, 3}) {
        context.cores = {0, 1, 2, 3};
        context.exchanged.clear();
        for (const worker_id w : {2, 3}) runs(w, w == largest ? 7 : 6);
        EXPECT_TRUE(snatch(0));
        EXPECT_EQ(context.exchanged, (exchanges{{0, largest}}));
    }
    EXPECT_EQ(std::ranges::count(context.bounds, 2U), 0) << "drawn among tasks of which one is the largest";
}

TEST_F(snatching_of_cores, follows_the_cores_that_the_workers_have_now) {
    runs(2, 7);
    EXPECT_TRUE(snatch(0)); // worker 0 is on the core of half the speed now
    EXPECT_FALSE(snatch(0)) << "from a faster core";
    runs(3, 1);
    EXPECT_TRUE(snatch(0));
    EXPECT_EQ(context.exchanged, (exchanges{{0, 2}, {0, 3}}));
}

TEST_F(snatching_of_cores, draws_among_the_largest) {
    runs(2, 5);
    runs(3, 5);
    context.draws = {1};
    EXPECT_TRUE(snatch(1));
    EXPECT_EQ(context.bounds, std::vector<std::uint32_t>{2});
    EXPECT_EQ(context.exchanged, (exchanges{{1, 3}}));
}

TEST_F(snatching_of_cores, takes_over_a_task_of_which_nothing_is_known) {
    runs(3, 0);
    EXPECT_TRUE(snatch(0));
    EXPECT_EQ(context.exchanged, (exchanges{{0, 3}}));
}

TEST_F(snatching_of_cores, finds_nothing_where_slower_cores_are_idle_or_the_engine_refuses) {
    EXPECT_FALSE(snatch(0));
    runs(2, 5);
    EXPECT_FALSE(snatch(3)) << "a thief on the slowest core";
    EXPECT_TRUE(context.exchanged.empty());
    context.can_exchange = false;
    EXPECT_FALSE(snatch(0));
    EXPECT_EQ(context.exchanged.size(), 1U);
}

TEST_F(snatching_of_cores, a_worker_that_comes_to_a_task_wakes_one_sleeper_on_a_faster_core) {
    cores.comes_to_a_task(3);
    EXPECT_EQ(woken(), (std::vector<worker_id>{})) << "none sleeps";
    cores.sleeps(0);
    cores.sleeps(1);
    cores.comes_to_a_task(3);
    EXPECT_EQ(woken().size(), 1U);
    cores.comes_to_a_task(2);
    cores.comes_to_a_task(3);
    auto all = woken();
    std::ranges::sort(all);
    EXPECT_EQ(all, (std::vector<worker_id>{0, 1})) << "each of them once";
}

TEST_F(snatching_of_cores, no_sleeper_is_woken_that_would_gain_nothing) {
    cores.sleeps(1);
    cores.sleeps(3);
    cores.comes_to_a_task(0);
    EXPECT_TRUE(context.woken.empty()) << "by a worker on a core as fast, or faster";
    cores.looks(1);
    cores.comes_to_a_task(2);
    EXPECT_TRUE(context.woken.empty()) << "it looks already";
    cores.sleeps(1);
    context.active_workers = 1;
    cores.comes_to_a_task(2);
    EXPECT_TRUE(context.woken.empty()) << "it is not active";
}

// ---- held_lock

TEST(held_lock, is_held_until_the_end_of_its_block_however_it_is_left) {
    queue::spin_lock<> lock;
    try {
        const held_lock held(lock);
        EXPECT_FALSE(lock.try_lock());
        throw std::runtime_error("leaves the block");
    } catch (const std::runtime_error&) {}
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
}

} // namespace
} // namespace weft::test
