// ctest: labels=not_tsan
//
// weft::thread and weft::jthread: the interface of the standard library's threads, as preempted tasks.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/preempted.hpp"

namespace weft {
namespace {

TEST(thread, runs_and_is_joined) {
    int sum = 0;
    thread t([&](int a, const std::unique_ptr<int>& b) { sum = a + *b; }, 1, std::make_unique<int>(2));
    EXPECT_TRUE(t.joinable());
    t.join();
    EXPECT_EQ(sum, 3);
    EXPECT_FALSE(t.joinable());
    EXPECT_THROW(t.join(), error);
    EXPECT_THROW(t.detach(), error);
}

TEST(thread, is_moved_and_swapped) {
    std::atomic<int> ran{0};
    thread a([&] { ++ran; }), b;
    const auto id = a.get_id();
    EXPECT_NE(id, thread::id());
    EXPECT_EQ(b.get_id(), thread::id());
    swap(a, b);
    EXPECT_EQ(b.get_id(), id);
    thread c(std::move(b));
    EXPECT_EQ(c.get_id(), id);
    c.join();
    EXPECT_EQ(ran, 1);
    thread d([] {}), e([] {});
    EXPECT_NE(d.get_id(), e.get_id());
    EXPECT_EQ((std::unordered_set<thread::id>{d.get_id(), e.get_id()}.size()), 2U);
    d.join();
    e.join();
    EXPECT_GT(thread::hardware_concurrency(), 0U);
}

TEST(thread, that_is_joinable_at_its_end_ends_the_program) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH({ thread t([] {}); }, "");
    EXPECT_DEATH(
        {
            thread t([] { throw 1; });
            t.join();
        },
        "");
}

TEST(thread, may_be_detached) {
    const auto ran = std::make_shared<std::atomic<int>>(0);
    for (int i = 0; i < 50; ++i) thread([ran] { ++*ran; }).detach();
    while (*ran < 50) std::this_thread::yield();
}

TEST(jthread, stops_and_joins) {
    std::atomic<bool> stopped{false};
    {
        const jthread t([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {}
            stopped = true;
        });
        EXPECT_TRUE(t.get_stop_token().stop_possible());
    }
    EXPECT_TRUE(stopped);
    jthread replaced(
        [](const std::stop_token& stop, int) {
            while (!stop.stop_requested()) {}
        },
        1);
    replaced = jthread([] {});
    EXPECT_FALSE(jthread().request_stop());
    replaced.join();
}

TEST(jthread, has_hints) {
    std::atomic<int> types{0};
    const auto type = [] { return static_cast<int>(impl::hot_self()->current->running->preempt_); };
    jthread([&] { types += type(); }, {.preempt = preemption::yield}).join();
    EXPECT_EQ(types, static_cast<int>(preemption::yield));
    jthread([&] { types = type(); }).join();
    EXPECT_EQ(types, static_cast<int>(preemption::klt)) << "by default";
}

TEST(thread, a_thousand_that_wait_for_each_other_make_progress) {
    constexpr int many = 1000;
    for (const preemption type : {preemption::yield, preemption::klt}) {
        runtime rt(test::preempting("off:interval=200us", 2));
        test::spin_barrier all(many);
        std::atomic<int> passed{0};
        rt.run([&] {
            std::vector<jthread> threads;
            for (int i = 0; i < many; ++i)
                threads.emplace_back(
                    [&] {
                        for (int r = 0; r < 2; ++r) all.wait();
                        ++passed;
                    },
                    hints{.preempt = type});
        });
        EXPECT_EQ(passed, many);
    }
}

} // namespace
} // namespace weft
