// Runtimes inside each other: runs of one in tasks of another, in circles, births and deaths inside of tasks.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::failure;
using test::failure_of;

using test::fib;

class nested : public testing::TestWithParam<test::setup> {
protected:
    test::setup of_other(std::size_t n) const {
        const auto& policies = test::policies_of_suite;
        std::size_t mine = 0;
        while (policies[mine] != GetParam().policy) ++mine;
        return {policies[(mine + n) % policies.size()], GetParam().workers};
    }

    runtime a_{GetParam().options()}, b_{of_other(1).options()}, c_{of_other(2).options()};
    const std::vector<runtime*> circle_{&a_, &b_, &c_};
};

INSTANTIATE_TEST_SUITE_P(all, nested,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite, {1, 2})),
                         test::setup_name{});

TEST_P(nested, three_in_a_circle) {
    std::atomic<int> deepest{0};
    const std::function<int(std::size_t)> round = [&](std::size_t depth) -> int {
        if (depth == 12) return ++deepest, fib(6);
        return circle_[depth % 3]->run([&, depth] { return 1 + round(depth + 1); });
    };
    EXPECT_EQ(round(0), 12 + 8);
    EXPECT_EQ(deepest, 1);
}

TEST_P(nested, three_in_a_circle_with_work_beside) {
    // Each level forks: both halves continue in the next runtime.
    const std::function<int(std::size_t)> grow = [&](std::size_t depth) -> int {
        if (depth == 7) return fib(5);
        return circle_[depth % 3]->run([&, depth] {
            const auto [x, y] =
                join([&, depth] { return grow(depth + 1); }, [&, depth] { return grow(depth + 1); });
            return x + y;
        });
    };
    EXPECT_EQ(grow(0), 5 << 7);
}

TEST_P(nested, three_circles_at_once_from_threads) {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            const std::function<int(std::size_t)> round = [&](std::size_t depth) -> int {
                if (depth == t + 9) return fib(5);
                return circle_[depth % 3]->run([&, depth] {
                    std::atomic<int> sum{0};
                    task_group g;
                    g.run([&, depth] { sum += round(depth + 1); });
                    g.run([&] { sum += fib(4); });
                    g.wait();
                    return sum.load();
                });
            };
            for (int i = 0; i < 5; ++i)
                if (round(t) == 5 + 9 * 3) ++right;
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(right, 15);
}

TEST_P(nested, failures_come_back_through_all) {
    EXPECT_EQ(failure_of([&] {
                  a_.run([&] { b_.run([&] { c_.run([&] { a_.run([] { throw failure{9}; }); }); }); });
              }),
              9);
    EXPECT_EQ(a_.run([&] {
        return failure_of([&] { b_.run([&] { join([&] { c_.run([] { throw failure{3}; }); }, [] {}); }); });
    }),
              3);
}

TEST_P(nested, born_and_destroyed_in_tasks) {
    std::atomic<int> sum{0};
    a_.run([&] {
        task_group g;
        for (int i = 0; i < 6; ++i)
            g.run([&, i] {
                runtime inner(of_other(static_cast<std::size_t>(i)).options());
                sum += inner.run([&] { return fib(5) + b_.run([] { return fib(4); }); });
            });
        g.wait();
    });
    EXPECT_EQ(sum, 6 * 8);
}

TEST_P(nested, born_in_a_task_and_destroyed_in_another) {
    std::atomic<int> sum{0};
    for (int i = 0; i < 5; ++i) {
        auto made = a_.run([&] { return std::make_unique<runtime>(of_other(3).options()); });
        sum += b_.run([&] { return made->run([] { return fib(6); }); });
        c_.run([&] { made.reset(); });
    }
    EXPECT_EQ(sum, 5 * 8);
}

TEST_P(nested, a_tower_of_births) {
    const std::function<int(std::size_t)> tower = [&](std::size_t height) -> int {
        if (height == 0) return fib(5);
        runtime inner(of_other(height).options());
        return inner.run([&] { return 1 + tower(height - 1); });
    };
    EXPECT_EQ(a_.run([&] { return tower(5); }), 10);
}

} // namespace
} // namespace weft
