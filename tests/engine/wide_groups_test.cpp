// ctest: tsan_cases=-*spawn_loops*:*become_wide_again*
//
// Groups with many short children, to which one task adds them in a loop. In the lazy zone the rest of that
// task is stolen between two children; when that has happened twice, the group is wide and its children are
// queued. The same holds for futures that one task makes in a loop.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

using test::await;

const std::vector<std::string> policies_with_wide_groups = {"steal", "near", "pws"};

class wide_groups : public testing::TestWithParam<std::string> {
protected:
    static runtime_options with_workers(const std::string& policy, int workers) {
        return test::setup{policy, workers}.options();
    }
    /// Two children that end when their adding task has been stolen. Needs another worker.
    static void make_wide(task_group& g) {
        for (int i = 0; i < group::handovers_to_wide; ++i) {
            std::atomic<bool> continues{false};
            std::atomic<bool> ended{false};
            g.run([&] {
                EXPECT_TRUE(await(continues)) << "no worker has stolen the task that adds children";
                ended = true;
            });
            continues = true;
            ASSERT_TRUE(await(ended));
        }
    }
};

INSTANTIATE_TEST_SUITE_P(policies, wide_groups, testing::ValuesIn(policies_with_wide_groups),
                         [](const auto& given) { return given.param; });

TEST_P(wide_groups, run_each_child_once) {
    runtime rt(with_workers(GetParam(), 2));
    for (int round = 0; round < test::rounds(5); ++round) {
        std::vector<std::atomic<int>> ran(5000);
        rt.run([&] {
            task_group g;
            make_wide(g);
            for (auto& r : ran) g.run([&r] { ++r; });
            g.wait();
            for (auto& r : ran) ASSERT_EQ(r.load(), 1);
        });
    }
}

TEST_P(wide_groups, can_be_used_again_and_have_groups_inside) {
    runtime rt(with_workers(GetParam(), 2));
    std::atomic<int> ran{0};
    rt.run([&] {
        task_group g;
        for (int again = 0; again < 3; ++again) {
            make_wide(g);
            for (int i = 0; i < 200; ++i)
                g.run([&ran] {
                    task_group inside;
                    for (int k = 0; k < 10; ++k) inside.run([&ran] { ++ran; });
                    inside.wait();
                });
            g.wait();
            EXPECT_EQ(ran.exchange(0), 2000);
        }
    });
}

TEST_P(wide_groups, have_children_that_add_children) {
    runtime rt(with_workers(GetParam(), 2));
    std::atomic<int> ran{0};
    rt.run([&] {
        task_group g;
        make_wide(g);
        for (int i = 0; i < 500; ++i)
            g.run([&] {
                ++ran;
                g.run([&ran] { ++ran; });
            });
        g.wait();
    });
    EXPECT_EQ(ran, 1000);
}

TEST_P(wide_groups, give_the_first_exception_to_the_wait) {
    runtime rt(with_workers(GetParam(), 2));
    std::atomic<int> ran{0};
    rt.run([&] {
        task_group g;
        make_wide(g);
        for (int i = 0; i < 500; ++i)
            g.run([&ran, i] {
                ++ran;
                if (i % 100 == 7) throw std::runtime_error("a child");
            });
        EXPECT_THROW(g.wait(), std::runtime_error);
    });
    EXPECT_EQ(ran, 500);
}

TEST_P(wide_groups, destroy_the_closures_of_cancelled_children) {
    runtime rt(with_workers(GetParam(), 2));
    test::lives closures;
    rt.run([&] {
        task_group g;
        make_wide(g);
        for (int i = 0; i < 500; ++i) {
            if (i == 250) g.cancel();
            g.run([&, inside = test::tracked(closures)] { std::ignore = inside.value; });
        }
        g.wait();
    });
    EXPECT_EQ(closures.alive(), 0);
    EXPECT_EQ(closures.misused, 0);
}

TEST_P(wide_groups, have_children_that_block) {
    runtime rt(with_workers(GetParam(), 2));
    std::atomic<int> ran{0};
    rt.run([&] {
        task_group g;
        make_wide(g);
        latch opened_by_the_last(1);
        for (int i = 0; i < 100; ++i)
            g.run([&] {
                opened_by_the_last.wait();
                ++ran;
            });
        g.run([&] { opened_by_the_last.count_down(); });
        g.wait();
    });
    EXPECT_EQ(ran, 100);
}

// A worker that has ended queued children counts them down when it begins something else, not when it next
// has nothing to do.
TEST_P(wide_groups, are_over_when_their_last_child_has_ended) {
    runtime rt(with_workers(GetParam(), 2));
    rt.run([&] {
        task_group first, second;
        make_wide(first);
        make_wide(second);
        std::atomic<bool> stolen{false}, is_over{false}, waited_too_long{false};
        const int here = this_task::worker();
        // The oldest half goes to the other worker, which runs it in this order: this child, the rest of the
        // first group from the youngest on, the child of the second group.
        first.run([&] { stolen = this_task::worker() != here; });
        second.run([&] {
            if (this_task::worker() == here) return; // the task that waits below can be resumed elsewhere
            waited_too_long = !await(is_over);
        });
        for (int i = 0; i < 20; ++i) first.run([] {});
        std::ignore = await(stolen);
        first.wait();
        is_over = true;
        second.wait();
        EXPECT_FALSE(waited_too_long);
    });
}

// ---- futures

constexpr time_ns usual_patience = 100'000; ///< how long a worker looks for work before it sleeps

/// Futures that end when the task that makes them has been stolen. Needs another worker.
void make_futures_wide() {
    for (int i = 0; i < group::handovers_to_wide; ++i) {
        std::atomic<bool> continues{false};
        auto f = async(
            [&] { EXPECT_TRUE(await(continues)) << "no worker has stolen the task that makes futures"; });
        continues = true;
        f.get();
    }
}

TEST_P(wide_groups, of_futures_give_each_result) {
    runtime rt(with_workers(GetParam(), 2));
    for (int round = 0; round < test::rounds(5); ++round)
        rt.run([&] {
            make_futures_wide();
            std::vector<future<int>> all;
            for (int i = 0; i < 2000; ++i)
                all.push_back(async([i] {
                    if (i % 100 == 99) throw std::runtime_error(std::to_string(i));
                    return 2 * i;
                }));
            for (int i = 0; i < 2000; ++i) {
                auto& f = all[static_cast<std::size_t>(i)];
                if (i % 100 == 99)
                    EXPECT_THROW(f.get(), std::runtime_error);
                else
                    ASSERT_EQ(f.get(), 2 * i);
            }
        });
}

TEST_P(wide_groups, of_futures_outlive_the_task_that_makes_them) {
    runtime rt(with_workers(GetParam(), 2));
    rt.run([&] {
        std::vector<future<int>> all;
        task_group g;
        g.run([&all] {
            make_futures_wide();
            for (int i = 0; i < 500; ++i)
                all.push_back(async([i] {
                    task_group inner;
                    int x = 0;
                    inner.run([&] { x = i; });
                    inner.wait();
                    return x;
                }));
        });
        g.wait();
        for (int i = 0; i < 500; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)].get(), i);
    });
}

TEST_P(wide_groups, of_futures_end_with_their_destructors) {
    runtime rt(with_workers(GetParam(), 2));
    std::atomic<int> ran{0};
    rt.run([&] {
        make_futures_wide();
        std::vector<future<void>> dropped;
        for (int i = 0; i < 500; ++i) dropped.push_back(async([&] { ++ran; }));
        dropped.clear();
        EXPECT_EQ(ran, 500);
    });
}

TEST(wide_futures, are_counted_for_each_task) {
    const machine on = test::cores{.cores_per_domain = 2, .cost = test::runtime_cost::usual}.build();
    const auto run_in_child = [](const auto& f) {
        task_group g;
        g.run(f);
        g.wait();
    };
    test::modelled m(make_policy("steal"), on, 1, usual_patience);
    m.run([&] {
        int later = 0;
        for (int round = 0; round < 20; ++round) {
            run_in_child([] {
                for (int i = 0; i < 10; ++i) async([] { cost(100'000); }).wait();
            });
            run_in_child([&] { // on the same stack
                bool has_begun = false;
                auto f = async([&] { has_begun = true; });
                later += !has_begun;
                f.get();
            });
        }
        EXPECT_EQ(later, 0);
    });
}

// ---- in virtual time

/// One task that adds `count` children.
struct spawn_loop {
    int count;
    std::uint64_t cycles; ///< on average, of a child
    bool uneven = false, nested = false, futures = false;

    std::uint64_t cycles_of(int i) const {
        return !uneven ? cycles : i % 10 == 0 ? cycles * 11 / 2 : cycles / 2;
    }
    void operator()() const {
        if (!nested) return add(count);
        task_group rows;
        for (int i = 0; i < 16; ++i) rows.run([*this] { add(count / 16); });
        rows.wait();
    }
    void add(int children) const {
        if (futures) {
            std::vector<future<void>> all;
            for (int i = 0; i < children; ++i) all.push_back(async([c = cycles_of(i)] { cost(c); }));
            for (auto& f : all) f.get();
            return;
        }
        task_group g;
        for (int i = 0; i < children; ++i) g.run([c = cycles_of(i)] { cost(c); });
        g.wait();
    }
    double work_ns() const { // at 1 GHz
        const int rows = nested ? 16 : 1;
        double sum = 0;
        for (int i = 0; i < count / rows; ++i) sum += static_cast<double>(cycles_of(i));
        return sum * rows;
    }
};

struct modelled_case {
    std::string policy;
    test::cores on;
    spawn_loop program;

    friend std::ostream& operator<<(std::ostream& out, const modelled_case& c) {
        return out << c.policy << ", " << c.on.packages << "x" << c.on.cores_per_domain << " cores, "
                   << c.program.cycles << " cycles" << (c.program.uneven ? ", uneven" : "")
                   << (c.program.nested ? ", nested" : "") << (c.program.futures ? ", futures" : "");
    }
};

std::vector<modelled_case> modelled_cases() {
    std::vector<modelled_case> all;
    std::vector<test::cores> machines = {{.cores_per_domain = 2},
                                         {.packages = 4, .cores_per_domain = 8},
                                         {.packages = 4, .cores_per_domain = 16}};
    if (test::more_rounds == 1) machines.erase(machines.begin() + 1);
    if (test::sanitized) machines.resize(1);
    for (const std::string& policy : policies_with_wide_groups)
        for (test::cores& on : machines) {
            on.cost = test::runtime_cost::usual;
            for (const std::uint64_t cycles : {100, 1000, 9000})
                for (const bool uneven : {false, true})
                    for (const auto& [nested, futures] :
                         {std::pair(false, false), {true, false}, {false, true}})
                        all.push_back(
                            {policy, on, {test::sanitized ? 2000 : 20'000, cycles, uneven, nested, futures}});
        }
    return all;
}

time_ns timed(const modelled_case& c, const machine& on, time_ns patience) {
    test::modelled m(make_policy(c.policy), on, 1, patience);
    return m.run([&] { c.program(); });
}

class spawn_loops : public testing::TestWithParam<modelled_case> {};

INSTANTIATE_TEST_SUITE_P(modelled, spawn_loops, testing::ValuesIn(modelled_cases()));

/// A greedy schedule takes at most the work divided by the workers, plus the longest path: here the loop that
/// adds the children, and the last child.
TEST_P(spawn_loops, take_at_most_what_a_greedy_schedule_may_take) {
    const modelled_case& c = GetParam();
    const machine on = c.on.build();
    const auto spawn = on.charges().spawn;
    const double greedy = c.program.work_ns() / on.size() + c.program.count * spawn +
                          6.0 * static_cast<double>(c.program.cycles) + on.charges().woken +
                          6 * on.charges().wake; // to wake the first sleepers
    const auto took = static_cast<double>(timed(c, on, usual_patience));
    RecordProperty("percent_of_the_bound", static_cast<int>(100 * greedy / took));
    EXPECT_LE(took, greedy / 0.85) << took / 1e6 << " ms; greedy: " << greedy / 1e6 << " ms";
}

TEST_P(spawn_loops, leave_no_worker_idle_beside_queued_children) {
    modelled_case c = GetParam();
    c.on.cost = test::runtime_cost::none;
    const machine on = c.on.build();
    const double longest = 6.0 * static_cast<double>(c.program.cycles);
    const auto took = static_cast<double>(timed(c, on, 0));
    EXPECT_LE(took, c.program.work_ns() / on.size() + longest);
}

TEST_P(spawn_loops, are_not_slower_than_with_one_worker) {
    const modelled_case& c = GetParam();
    const machine one = test::cores{.cost = test::runtime_cost::usual}.build();
    const auto serial = timed(c, one, usual_patience);
    EXPECT_LE(timed(c, c.on.build(), usual_patience), serial);
}

TEST_P(wide_groups, become_wide_again_after_a_wait) {
    const machine on = test::cores{.cores_per_domain = 32, .cost = test::runtime_cost::usual}.build();
    const auto add = [](task_group& g) {
        for (int i = 0; i < 5000; ++i) g.run([] { cost(1000); });
        g.wait();
    };
    test::modelled m(make_policy(GetParam()), on, 1, usual_patience);
    const auto once = m.run([&] {
        task_group g;
        add(g);
    });
    const auto twice = m.run([&] {
        task_group g;
        add(g);
        add(g);
    });
    EXPECT_LE(twice, 2 * once + once / 4);
}

} // namespace
} // namespace weft
