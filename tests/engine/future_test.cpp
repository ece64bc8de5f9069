// async and future: the task runs once, its result or exception comes through the future, wherever it is
// waited for.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/support.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

class futures : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, futures,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

long fib(int n) {
    if (n < 2) return n;
    auto a = async([n] { return fib(n - 1); });
    const long b = fib(n - 2);
    return a.get() + b;
}

TEST_P(futures, compute) {
    EXPECT_EQ(rt_.run([] { return fib(12); }), 144);
}

TEST_P(futures, are_taken_in_any_order) {
    rt_.run([] {
        std::vector<future<int>> all;
        for (int i = 0; i < 50; ++i) all.push_back(async([i] { return i; }));
        for (int i = 0; i < 50; i += 2) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
        for (int i = 49; i > 0; i -= 2) EXPECT_EQ(all[static_cast<std::size_t>(i)].get(), i);
    });
}

TEST_P(futures, are_waited_for_by_other_tasks_than_their_makers) {
    rt_.run([] {
        future<std::string> made;
        latch there(1);
        task_group g;
        g.run([&] {
            made = async([] {
                this_task::yield();
                return std::string("from afar");
            });
            there.count_down();
        });
        g.run([&] {
            there.wait();
            EXPECT_EQ(made.get(), "from afar");
        });
        g.wait();
    });
}

TEST_P(futures, outlive_the_task_that_made_them) {
    rt_.run([] {
        std::vector<future<int>> all(20);
        latch open(1);
        {
            task_group g;
            for (std::size_t i = 0; i < all.size(); ++i)
                g.run([&, i] {
                    all[i] = async([&open, i] {
                        open.wait();
                        return static_cast<int>(i);
                    });
                });
            g.wait();
        }
        open.count_down();
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].get(), static_cast<int>(i));
    });
}

TEST_P(futures, hand_on_exceptions) {
    EXPECT_EQ(5, test::failure_of([&] { rt_.run([] { async([] { throw test::failure{5}; }).get(); }); }));
    rt_.run(
        [] { static_cast<void>(async([]() -> int { throw test::failure{6}; })); }); // dropped with its future
}

TEST_P(futures, hold_what_can_only_be_moved_and_nothing) {
    rt_.run([] {
        auto made = async([p = std::make_unique<int>(3)]() mutable { return std::move(p); });
        EXPECT_EQ(*made.get(), 3);
        bool ran = false;
        future<void> nothing = async([&] { ran = true; });
        nothing.get();
        EXPECT_TRUE(ran);
        EXPECT_FALSE(nothing.valid());
        EXPECT_THROW(nothing.get(), error);
        EXPECT_THROW(static_cast<void>(future<int>().wait_for(1ms)), error);
    });
}

TEST_P(futures, say_whether_they_are_ready) {
    rt_.run([] {
        latch open(1);
        auto f = async([&] { open.wait(); });
        EXPECT_FALSE(f.is_ready());
        EXPECT_EQ(f.wait_for(1ms), std::future_status::timeout);
        open.count_down();
        EXPECT_EQ(f.wait_for(1h), std::future_status::ready);
        EXPECT_TRUE(f.is_ready());
        f.get();
    });
}

TEST_P(futures, a_destroyed_future_has_waited) {
    rt_.run([] {
        std::atomic<bool> ended{false};
        {
            const auto f = async([&] {
                this_task::sleep_for(1ms);
                ended = true;
            });
        }
        EXPECT_TRUE(ended);
    });
}

TEST(futures_outside, work_in_threads_that_are_no_workers) {
    auto f = async([] { return this_task::worker(); });
    EXPECT_GE(f.get(), 0);
    runtime rt(test::setup{"steal", 2}.options());
    auto inside = rt.run([] { return std::make_unique<future<int>>(async([] { return 4; })); });
    EXPECT_EQ(inside->get(), 4); // made by a worker, taken by a thread
}

} // namespace
} // namespace weft
