// Memory: stacks are bounded by the program, not by steals, and go back after a burst; nothing is left of a
// runtime.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "engine/held.hpp"
#include "engine/run/roots.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

namespace weft {
namespace {

/// An engine without a runtime around it: its pool of fibers can be looked at.
class bare_engine {
public:
    static constexpr std::size_t keep = 64;

    bare_engine(const std::string& policy, int workers)
        : engine_(make_policy(policy), load_machine(""), options(workers)) {}

    template <class F>
    void run(F&& f) {
        engine::run_root(engine_, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }

    const fiber_pool& fibers() const { return engine_.fibers; }

    std::uint64_t steals() const {
        std::uint64_t sum = 0;
        for (const auto& w : engine_.all_workers) sum += w->count.steals.get();
        return sum;
    }

private:
    static engine::thread_engine_options options(int workers) {
        engine::thread_engine_options o;
        o.workers = workers;
        o.seed = test::seed;
        o.keep_fibers = keep;
        o.stack_bytes = std::size_t{256} << 10;
        return o;
    }

    engine::thread_engine engine_;
};

/// Free fibers that workers keep to themselves, and one scheduler for each.
constexpr std::size_t at_rest(int workers) {
    return bare_engine::keep + static_cast<std::size_t>(workers) * 20;
}

using test::fib;

long fib_by_groups(int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
    task_group g;
    g.run([&] { a = fib_by_groups(n - 1); });
    g.run([&] { b = fib_by_groups(n - 2); });
    g.wait();
    return a + b;
}

class lazy_stacks : public testing::TestWithParam<test::setup> {};

INSTANTIATE_TEST_SUITE_P(all, lazy_stacks,
                         testing::ValuesIn(test::setups({"steal", "near", "steal:zone=reported"}, {1, 2, 4})),
                         test::setup_name{});

TEST_P(lazy_stacks, of_joins_are_bounded_by_depth_and_workers) {
    WEFT_SEEDED;
    bare_engine e(GetParam().policy, GetParam().workers);
    constexpr int depth = 18;
    for (int repeat = 0; repeat < (test::sanitized ? 3 : 10); ++repeat)
        e.run([] { EXPECT_EQ(fib(depth), 2584); });
    // In the silent zone a worker holds one stack for each join of its path that waits for a thief.
    const auto bound = static_cast<std::size_t>(GetParam().workers * (depth + 2));
    EXPECT_LE(e.fibers().peak(), 2 * bound) << e.steals() << " steals";
}

TEST_P(lazy_stacks, of_groups_are_bounded_by_depth_and_workers) {
    WEFT_SEEDED;
    bare_engine e(GetParam().policy, GetParam().workers);
    constexpr int depth = 15;
    for (int repeat = 0; repeat < (test::sanitized ? 3 : 10); ++repeat)
        e.run([] { EXPECT_EQ(fib_by_groups(depth), 610); });
    // A child has a stack of its own: one a level even without any steal.
    const auto bound = static_cast<std::size_t>(GetParam().workers * (depth + 2));
    EXPECT_LE(e.fibers().peak(), 2 * bound) << e.steals() << " steals";
}

TEST_P(lazy_stacks, a_long_loop_of_runs_holds_no_stacks) {
    WEFT_SEEDED;
    bare_engine e(GetParam().policy, GetParam().workers);
    std::atomic<int> ran{0};
    e.run([&] {
        task_group g;
        for (int i = 0; i < 20'000; ++i) g.run([&] { ran.fetch_add(1, std::memory_order_relaxed); });
        g.wait();
    });
    EXPECT_EQ(ran.load(), 20'000);
    EXPECT_LE(e.fibers().peak(), static_cast<std::size_t>(GetParam().workers) * 20)
        << e.steals() << " steals";
}

class burst : public testing::TestWithParam<test::setup> {};

INSTANTIATE_TEST_SUITE_P(all, burst,
                         testing::ValuesIn(test::setups({"share", "steal-parent-first:order=fifo"},
                                                        {1, 2, 4})),
                         test::setup_name{});

TEST_P(burst, of_waiting_tasks_gives_its_stacks_back) {
    // Breadth first: every task of a level begins, and waits, before the first one of the next level.
    bare_engine e(GetParam().policy, GetParam().workers);
    constexpr int waiting = test::sanitized ? 150 : 2000; // each a fiber, which is dear to a sanitizer
    for (int repeat = 0; repeat < 3; ++repeat) {
        std::atomic<int> leaves{0};
        e.run([&] {
            task_group g;
            for (int i = 0; i < waiting; ++i)
                g.run([&] {
                    task_group inner;
                    inner.run([&] { ++leaves; });
                    inner.wait();
                });
            g.wait();
        });
        ASSERT_EQ(leaves.load(), waiting);
        if (GetParam().workers == 1) { EXPECT_GE(e.fibers().peak(), std::size_t{waiting}); }
        // The last fibers are given back by workers that may not be through yet.
        EXPECT_TRUE(test::await([&] { return e.fibers().mapped() <= at_rest(GetParam().workers); }))
            << e.fibers().mapped() << " stacks";
    }
}

// ---- nothing is left

TEST(memory, nothing_is_left_of_a_runtime) {
    const auto use = [](int i) {
        const auto& policy =
            test::policies_of_suite[static_cast<std::size_t>(i) % test::policies_of_suite.size()];
        runtime rt(test::setup{policy, 1 + i % 3}.options());
        rt.run([] {
            EXPECT_EQ(fib_by_groups(6), 8);
            EXPECT_EQ(fib(6), 8);
        });
    };
    const int first = 50, all = test::sanitized ? 150 : 300;
    for (int i = 0; i < first; ++i) use(i);
    const auto files = test::entries("/proc/self/fd"), threads = test::entries("/proc/self/task"),
               maps = test::mappings();
    for (int i = first; i < all; ++i) use(i);
    EXPECT_EQ(test::entries("/proc/self/fd"), files);
    EXPECT_TRUE(test::await([&] { return test::entries("/proc/self/task") <= threads; }))
        << test::entries("/proc/self/task");
    if (!test::sanitized) { EXPECT_LE(test::mappings(), maps + 50); } // malloc's arenas come and go
}

} // namespace
} // namespace weft
