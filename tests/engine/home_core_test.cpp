// Workers of a program that has not chosen how to pin them have their cores only while they have no work: src/engine/threads/home_core.cpp.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <sched.h>

#include "engine/bare_engine.hpp"

namespace weft {
namespace {

cpu_set_t mask_here() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

cpu_set_t mask_of_a_thread_that_starts_here() {
    cpu_set_t mask;
    std::thread([&] { mask = mask_here(); }).join();
    return mask;
}

/// What `f` returns in a task of each of the `n` workers, but for that in whose place the calling thread is.
template <class Runtime, class F>
std::map<int, cpu_set_t> in_each_worker(Runtime& rt, int n, const F& f) {
    std::mutex lock;
    std::map<int, cpu_set_t> seen;
    const auto caller = std::this_thread::get_id();
    rt.run([&] {
        std::atomic<int> came{0};
        task_group g;
        const auto look = [&] {
            for (++came; came < n;) std::this_thread::yield(); // one worker each
            if (std::this_thread::get_id() == caller) return;  // it is pinned nowhere
            const cpu_set_t mask = f();
            const std::lock_guard guard(lock);
            seen[this_task::worker()] = mask;
        };
        for (int i = 1; i < n; ++i) g.run(look);
        look();
        g.wait();
    });
    return seen;
}

class home_core : public testing::Test {
protected:
    void SetUp() override {
        if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core";
    }

    const cpu_set_t all = mask_here();
};

TEST_F(home_core, threads_that_a_task_starts_have_all_cores) {
    runtime rt;
    for (int i = 0; i < 3; ++i) {
        const auto seen = in_each_worker(rt, rt.workers(), mask_of_a_thread_that_starts_here);
        EXPECT_GE(seen.size(), static_cast<std::size_t>(rt.workers() - 1));
        for (const auto& [worker, mask] : seen)
            EXPECT_TRUE(CPU_EQUAL(&mask, &all)) << "worker " << worker << ": " << CPU_COUNT(&mask);
        std::this_thread::sleep_for(std::chrono::milliseconds(2)); // they sleep, and are pinned
    }
}

TEST_F(home_core, workers_without_work_are_on_their_cores) {
    auto o = test::options_of(2);
    o.pin = o.pin_without_work = true;
    o.lend_places = false;
    test::bare_engine e("steal", o);
    const auto are_home = [&] {
        return std::ranges::all_of(e.engine.all_workers, [&](const auto& w) {
            cpu_set_t mask;
            const int core = e.engine.machine.core_at(w->core()).os_index;
            return pthread_getaffinity_np(w->thread, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) == 1 &&
                   CPU_ISSET(static_cast<std::size_t>(core), &mask);
        });
    };
    EXPECT_TRUE(test::await(are_home)); // before they have worked
    for (int i = 0; i < 3; ++i) {
        for (const auto& [worker, mask] : in_each_worker(e, 2, mask_here))
            EXPECT_TRUE(CPU_EQUAL(&mask, &all)) << "worker " << worker << ": " << CPU_COUNT(&mask);
        EXPECT_TRUE(test::await(are_home));
    }
}

TEST_F(home_core, workers_that_are_to_be_pinned_stay_so) {
    runtime_options o;
    o.pin = "compact";
    runtime rt(o);
    const auto seen = in_each_worker(rt, rt.workers(), mask_here);
    EXPECT_GE(seen.size(), static_cast<std::size_t>(rt.workers() - 1));
    for (const auto& [worker, mask] : seen) EXPECT_EQ(CPU_COUNT(&mask), 1) << "worker " << worker;
}

TEST_F(home_core, a_mask_that_the_program_sets_stays) {
    auto o = test::options_of(2);
    o.pin = o.pin_without_work = true;
    o.lend_places = false;                     // all tasks are in the workers' own threads
    o.spin_time = std::chrono::nanoseconds(0); // they sleep at once
    test::bare_engine e("steal", o);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    const auto set = in_each_worker(e, 2, [&] {
        sched_setaffinity(0, sizeof one, &one);
        return one;
    });
    EXPECT_EQ(set.size(), 2U);
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        for (const auto& [worker, mask] : in_each_worker(e, 2, mask_here))
            EXPECT_TRUE(CPU_EQUAL(&mask, &one)) << "worker " << worker << ": " << CPU_COUNT(&mask);
    }
}

} // namespace
} // namespace weft
