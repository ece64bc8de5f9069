// The number of active workers changes while programs run: no task is lost, none stays with an inactive
// worker, and policies are told. Random changes under random programs: stress/engine_programs_test.cpp.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "engine/bare_engine.hpp"

namespace weft {
namespace {

using test::fib;

worker_id this_worker() { return impl::hot_self()->id; }

/// True if all workers beyond the active ones sleep and are in no set. A worker that is in no set but awake
/// may be moving from one set to another, and about to look once more.
bool wait_inactive(engine::thread_engine& e, int active) {
    const auto all = static_cast<std::uint32_t>(e.worker_count()), first = static_cast<std::uint32_t>(active);
    for (const auto& w : e.all_workers)
        if (w->id >= active && !w->count.asleep.is_open()) return false;
    return !e.searching.any_in(first, all) && !e.parked.any_in(first, all);
}

class resized : public testing::TestWithParam<std::string> {
protected:
    static constexpr int workers = 4;
    test::bare_engine bare_{GetParam(), test::options_of(workers)};
    engine::thread_engine& engine_{bare_.engine};

    void SetUp() override {
        if (!engine_.need.resizable) GTEST_SKIP() << "its workers are always active";
    }
};

INSTANTIATE_TEST_SUITE_P(all, resized, testing::ValuesIn(test::parallel_policies), [](const auto& of) {
    return test::setup_name{}(testing::TestParamInfo<test::setup>({of.param, 4}, 0));
});

TEST_P(resized, only_the_active_ones_run_tasks) {
    for (const int active : {1, 3, 2, 4, 1}) {
        engine_.set_active(active);
        ASSERT_EQ(engine_.outermost.active().size(), active);
        ASSERT_TRUE(test::await([&] { return wait_inactive(engine_, active); }));
        std::atomic<int> highest{0}, sum{0};
        const int runs = test::rounds(test::sanitized ? 5 : 20);
        for (int i = 0; i < runs; ++i)
            bare_.run([&] {
                parallel_for(0, 50,
                             [&](int) {
                                 const int here = this_worker();
                                 int before = highest;
                                 while (before < here && !highest.compare_exchange_weak(before, here)) {}
                                 sum += static_cast<int>(fib(5));
                             },
                             {.grain = 1});
            });
        EXPECT_LT(highest, active);
        EXPECT_EQ(sum, runs * 50 * 5);
    }
}

// S5 of engine/idle/README.md.
TEST_P(resized, what_lies_at_one_that_is_no_longer_active_is_found) {
    // A root on a worker of high rank is not interrupted; worker 0 must run what the root spawns.
    for (int found = 0; found < 3;) {
        engine_.set_active(workers);
        bare_.run([&] {
            const int here = this_worker();
            if (here == 0) return;
            ++found;
            engine_.set_active(1);
            std::atomic<int> ran{0};
            task_group g;
            for (int i = 0; i < 30; ++i) g.run([&] { ++ran; });
            // Without a look at where they were put aside. Once worker 0 has stolen the rest of this task, the
            // children of a wide group lie at worker 0, and only its wait runs them.
            if (this_worker() != 0) {
                EXPECT_TRUE(test::await([&] { return ran == 30; }));
            }
            g.wait();
        });
    }
    EXPECT_EQ(bare_.engine.outermost.active().size(), 1);
    bare_.run([] { EXPECT_EQ(fib(10), 55); });
}

TEST_P(resized, sleepers_come_back_for_work) {
    for (int i = 0; i < test::rounds(16); ++i) {
        engine_.set_active(1);
        if (i % 2) {
            ASSERT_TRUE(test::await([&] { return wait_inactive(engine_, 1); }));
        }
        std::atomic<bool> beside{false};
        bare_.run([&] {
            join(
                [&] {
                    engine_.set_active(2 + i % 3);
                    EXPECT_TRUE(test::await(beside));
                },
                [&] { beside.store(true, std::memory_order_release); });
        });
    }
}

TEST_P(resized, while_it_starts_and_ends) {
    for (int i = 0; i < test::rounds(12); ++i) {
        test::bare_engine brief(GetParam(), test::options_of(workers));
        brief.engine.set_active(1 + i % workers);
        if (i % 3) brief.run([] { EXPECT_EQ(fib(6), 8); });
        brief.engine.set_active(1 + i % 2);
    }
}

TEST_P(resized, roots_from_many_threads_while_it_changes) {
    std::atomic<bool> stop{false};
    std::thread changes([&] {
        for (unsigned i = 1; !stop; i = i * 1664525 + 1013904223) {
            engine_.set_active(static_cast<int>(i >> 16) % (workers + 2));
            if ((i >> 24) % 4 == 0) std::this_thread::yield();
        }
    });
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    const int runs = test::rounds(test::sanitized ? 60 : 300);
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < runs; ++i) {
                long result = 0;
                bare_.run([&] {
                    task_group g;
                    g.run([&] { result = fib(7); });
                    fib(4);
                    g.wait();
                });
                if (result == 13) ++right;
            }
        });
    for (auto& t : threads) t.join();
    stop = true;
    changes.join();
    EXPECT_EQ(right, 3 * runs);
}

/// Iterations of one root, which `constrained` replays: the last ones without steals.
TEST(resizing, iterations_go_on_where_workers_are_active) {
    constexpr int workers = 4, leaves = 32, iterations = 24;
    test::bare_engine bare("constrained:relaxed=2", test::options_of(workers));
    auto& e = bare.engine;
    for (int round = 0; round < test::rounds(6); ++round) {
        std::atomic<int> ran{0}, began_elsewhere{0};
        bare.run([&] {
            for (int k = 0; k < iterations; ++k) {
                iteration(k);
                const int active = k < 6 ? workers : 1 + (k + round) % workers;
                e.set_active(active);
                task_group g;
                for (int i = 0; i < leaves; ++i)
                    g.run([&] {
                        ++ran;
                        if (this_worker() >= active) ++began_elsewhere;
                        fib(4);
                    });
                g.wait();
            }
        });
        EXPECT_EQ(ran, iterations * leaves);
        // The root begins an iteration on a worker that was active in the one before, and its children begin there until another
        // worker has taken the rest of it: in the iterations with fewer workers than before, which are every fourth one.
        EXPECT_LT(began_elsewhere, iterations * leaves / 2);
    }
}

// ---- the policy's side

/// Behaves as its base, and records what it was told.
struct told final : policy {
    explicit told(const char* name, bool resizable) : base(make_policy(name)), may_change(resizable) {}

    requirements attach(const machine& m, policy_context& c) override {
        context = &c;
        requirements n = base->attach(m, c);
        n.resizable = may_change;
        return n;
    }
    placement ready(worker_id w, task& t, ready_reason r) override { return base->ready(w, t, r); }
    decision next(worker_id w, bool last_look) override { return base->next(w, last_look); }
    workers victims(worker_id w) override { return base->victims(w); }
    void resized(workers active) override {
        EXPECT_EQ(context->active().size(), active.size());
        EXPECT_EQ(active.first, 0);
        sizes.push_back(active.size());
    }

    std::unique_ptr<policy> base;
    const bool may_change;
    policy_context* context = nullptr;
    std::vector<int> sizes; // resized() never runs twice at a time
};

std::pair<std::vector<int>, int> sizes_told(bool resizable) {
    auto made = std::make_unique<told>("steal", resizable);
    told& p = *made;
    engine::thread_engine e(std::move(made), load_machine(""), test::options_of(3));
    for (const int n : {3, 2, 2, 0, 100, 1}) e.set_active(n);
    return {p.sizes, e.outermost.active().size()};
}

TEST(resizing, is_told_to_policies_that_can_bear_it) {
    EXPECT_EQ(sizes_told(true), (std::pair{std::vector{2, 1, 3, 1}, 1}));
    EXPECT_EQ(sizes_told(false), (std::pair{std::vector<int>{}, 3}));
}

// ---- the machine

cpu_set_t mask_of_this_thread() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

TEST(resizing, pinned_workers_come_back_to_their_cores) {
    auto o = test::options_of(2);
    o.pin = true;
    o.lend_places = false; // callers are not pinned
    test::bare_engine e("steal", o);
    if (e.engine.machine.size() < 2) GTEST_SKIP() << "one core";
    for (int i = 0; i < 4; ++i) {
        e.engine.set_active(1 + i % 2);
        std::mutex lock;
        std::vector<std::pair<int, int>> seen; // worker, number of cores in its mask
        std::atomic<bool> beside{i % 2 == 0};
        e.run([&] {
            const auto look = [&] {
                const cpu_set_t mask = mask_of_this_thread();
                const int w = this_worker();
                const auto core = static_cast<std::size_t>(
                    e.engine.machine.core_at(e.engine.outermost.core_of(w)).os_index);
                const std::lock_guard guard(lock);
                seen.emplace_back(w, CPU_ISSET(core, &mask) ? CPU_COUNT(&mask) : -1);
            };
            join(
                [&] {
                    look();
                    EXPECT_TRUE(test::await(beside));
                },
                [&] {
                    look();
                    beside.store(true, std::memory_order_release);
                });
        });
        for (const auto& [w, cores] : seen) EXPECT_EQ(cores, 1) << "worker " << w;
        EXPECT_EQ(seen.size(), 2u);
    }
}

/// Does what `taskset -a` does.
void set_mask_of_all_threads(const cpu_set_t& mask) {
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        sched_setaffinity(std::stoi(entry.path().filename()), sizeof mask, &mask);
}

/// 0 if a runtime with the default number of workers follows the process's mask to one core and back.
int follow_the_mask(bool explicitly) {
    const cpu_set_t all = mask_of_this_thread();
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t core = 0; CPU_COUNT(&one) == 0; ++core)
        if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
    runtime_options o;
    if (explicitly) o.workers = CPU_COUNT(&all);
    runtime rt(o);
    engine::thread_engine* e = nullptr;
    rt.run([&] { e = &static_cast<engine::thread_engine&>(impl::hot_self()->engine); });
    const int before = e->outermost.active().size();
    if (before != rt.workers()) return 1;
    set_mask_of_all_threads(one);
    if (explicitly) {
        std::this_thread::sleep_for(
            std::chrono::milliseconds(2500)); // the monitor, if there were one, would look twice
        return e->outermost.active().size() == before ? 0 : 2;
    }
    if (!test::await([&] { return e->outermost.active().size() == 1; })) return 3;
    if (rt.run([] { return fib(15); }) != 610) return 4;
    set_mask_of_all_threads(all);
    if (!test::await([&] { return e->outermost.active().size() == before; })) return 5;
    return rt.run([] { return fib(15); }) == 610 ? 0 : 6;
}

TEST(resizing, follows_the_cores_of_the_process) {
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(_exit(follow_the_mask(false)), testing::ExitedWithCode(0), "");
    if (test::sanitized)
        return; // the other one waits for a change that does not come, and runs no other code
    EXPECT_EXIT(_exit(follow_the_mask(true)), testing::ExitedWithCode(0), "");
}

TEST(resizing, one_thread_looks_for_all_and_ends_with_the_last) {
    const auto threads = [] {
        const std::filesystem::directory_iterator list("/proc/self/task");
        return std::distance(begin(list), end(list));
    };
    const auto none = threads();
    auto o = test::options_of(2);
    o.follow_cores = true;
    {
        const test::bare_engine a("steal", o);
        EXPECT_EQ(threads(), none + 3);
        {
            const test::bare_engine b("near", o), c("serial", o);
            EXPECT_EQ(threads(), none + 7);
        }
        EXPECT_TRUE(test::await([&] { return threads() == none + 3; }));
    }
    EXPECT_TRUE(test::await([&] { return threads() == none; }));
}

} // namespace
} // namespace weft
