// ctest: labels=slow
//
// mutex, condition_variable, latch, barrier, semaphore, sleep and yield: they block the task and never its
// worker, lose no wake-up, and serve tasks of several runtimes and plain threads alike.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/bare_engine.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr int many = test::thread_sanitized ? 60 : 300;

class blocking : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, blocking,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

// ---- mutex

TEST_P(blocking, a_mutex_excludes) {
    mutex m;
    long unguarded = 0;
    rt_.run([&] {
        parallel_for(0, many,
                     [&](int) {
                         const std::lock_guard lock(m);
                         const long seen = unguarded;
                         if (seen % 7 == 0) this_task::yield();
                         unguarded = seen + 1;
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(unguarded, many);
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(m.try_lock());
    m.unlock();
}

TEST_P(blocking, a_mutex_is_held_across_joins_and_waits) {
    mutex m;
    int inside = 0, most = 0;
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 50; ++i)
            g.run([&] {
                const std::lock_guard lock(m);
                most = std::max(most, ++inside);
                std::atomic<int> leaves{0};
                parallel_for(0, 8, [&](int) { ++leaves; }, {.grain = 1});
                EXPECT_EQ(leaves, 8);
                --inside;
            });
        g.wait();
    });
    EXPECT_EQ(most, 1);
}

TEST_P(blocking, tasks_and_threads_share_a_mutex) {
    mutex m;
    long sum = 0;
    const auto add = [&] {
        const std::lock_guard lock(m);
        ++sum;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < many; ++i) add();
        });
    rt_.run([&] { parallel_for(0, many, [&](int) { add(); }, {.grain = 1}); });
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum, 3 * many);
}

TEST_P(blocking, scoped_lock_takes_two_in_any_order) {
    mutex a, b;
    int both = 0;
    rt_.run([&] {
        parallel_for(0, many,
                     [&](int i) {
                         if (i % 2) {
                             const std::scoped_lock lock(a, b);
                             ++both;
                         } else {
                             const std::scoped_lock lock(b, a);
                             ++both;
                         }
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(both, many);
}

// ---- latch

// More tasks wait than there are workers: if one of them kept its worker, this would hang.
TEST_P(blocking, all_tasks_meet_at_a_latch) {
    const int tasks = many;
    latch all(tasks), gone(tasks);
    std::atomic<int> through{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < tasks; ++i)
            g.run([&] {
                all.arrive_and_wait();
                ++through;
                gone.count_down();
            });
        gone.wait();
        EXPECT_EQ(through, tasks);
        EXPECT_TRUE(gone.try_wait());
        g.wait();
    });
}

TEST_P(blocking, a_latch_may_go_when_its_wait_has_returned) {
    rt_.run([&] {
        for (int i = 0; i < many; ++i) {
            auto open = std::make_unique<latch>(1);
            task_group g;
            g.run([l = open.get()] { l->count_down(); });
            open->wait();
            open.reset();
            g.wait();
        }
    });
}

TEST_P(blocking, a_wait_deep_in_silent_joins_hides_nothing) {
    latch opened(1);
    std::atomic<int> leaves{0};
    struct tree {
        latch& opened;
        std::atomic<int>& leaves;
        void grow(int depth) {
            if (depth == 0) { // the leftmost leaf waits for the rightmost
                if (++leaves == 1)
                    opened.wait();
                else if (leaves == 64)
                    opened.count_down();
                return;
            }
            join([=, this] { grow(depth - 1); }, [=, this] { grow(depth - 1); });
        }
    } t{opened, leaves};
    rt_.run([&] { t.grow(6); });
    EXPECT_EQ(leaves, 64);
}

// ---- condition_variable

TEST_P(blocking, a_bounded_buffer_loses_nothing) {
    mutex m;
    condition_variable not_empty, not_full;
    std::vector<int> buffer;
    long taken = 0;
    rt_.run([&] {
        task_group g;
        for (int p = 0; p < 3; ++p)
            g.run([&, p] {
                for (int i = 0; i < many; ++i) {
                    std::unique_lock lock(m);
                    not_full.wait(lock, [&] { return buffer.size() < 4; });
                    buffer.push_back(p * many + i);
                    not_empty.notify_one();
                }
            });
        for (int c = 0; c < 3; ++c)
            g.run([&] {
                for (int i = 0; i < many; ++i) {
                    std::unique_lock lock(m);
                    not_empty.wait(lock, [&] { return !buffer.empty(); });
                    taken += buffer.back();
                    buffer.pop_back();
                    not_full.notify_one();
                }
            });
        g.wait();
    });
    EXPECT_EQ(taken, 3L * many * (3L * many - 1) / 2);
}

TEST_P(blocking, notify_all_reaches_everybody) {
    mutex m;
    condition_variable go;
    bool open = false;
    std::atomic<int> through{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < many; ++i)
            g.run([&] {
                std::unique_lock lock(m);
                go.wait(lock, [&] { return open; });
                ++through;
            });
        {
            const std::lock_guard lock(m);
            open = true;
        }
        go.notify_all();
        g.wait();
    });
    EXPECT_EQ(through, many);
}

TEST_P(blocking, a_wait_with_a_limit_ends_by_it_or_by_the_event) {
    mutex m;
    condition_variable c;
    bool never = false, soon = false;
    rt_.run([&] {
        std::unique_lock lock(m);
        EXPECT_EQ(c.wait_for(lock, 1ms), std::cv_status::timeout);
        EXPECT_TRUE(lock.owns_lock());
        EXPECT_FALSE(c.wait_for(lock, 1ms, [&] { return never; }));
        task_group g;
        g.run([&] {
            this_task::sleep_for(1ms);
            const std::lock_guard again(m);
            soon = true;
            c.notify_one();
        });
        EXPECT_TRUE(c.wait_for(lock, 1h, [&] { return soon; }));
        lock.unlock();
        g.wait();
    });
}

// ---- barrier

TEST_P(blocking, a_barrier_keeps_its_phases_apart) {
    constexpr int tasks = 20, phases = 20;
    std::vector<int> done(tasks);
    int phase = 0;
    bool apart = true;
    const auto check = [&]() noexcept {
        ++phase;
        for (const int d : done) apart = apart && d == phase;
    };
    barrier b(tasks, check);
    rt_.run([&] {
        task_group g;
        for (std::size_t i = 0; i < tasks; ++i)
            g.run([&, i] {
                for (int k = 0; k < phases; ++k) {
                    ++done[i];
                    b.arrive_and_wait();
                }
            });
        g.wait();
    });
    EXPECT_EQ(phase, phases);
    EXPECT_TRUE(apart);
}

TEST_P(blocking, a_task_that_drops_out_of_a_barrier_is_not_waited_for) {
    barrier b(3);
    std::atomic<int> passed{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 2; ++i)
            g.run([&] {
                for (int k = 0; k < 10; ++k) b.wait(b.arrive());
                ++passed;
            });
        g.run([&] { b.arrive_and_drop(); });
        g.wait();
    });
    EXPECT_EQ(passed, 2);
}

// ---- semaphore

TEST_P(blocking, a_semaphore_lets_so_many_in) {
    counting_semaphore<3> places(3);
    std::atomic<int> inside{0}, most{0};
    rt_.run([&] {
        parallel_for(0, many,
                     [&](int) {
                         places.acquire();
                         int now = ++inside;
                         for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {}
                         this_task::yield();
                         --inside;
                         places.release();
                     },
                     {.grain = 1});
        EXPECT_FALSE((binary_semaphore(0).try_acquire_for(1ms)));
        EXPECT_TRUE(places.try_acquire_for(1h));
        places.release();
    });
    EXPECT_LE(most, 3);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(places.try_acquire());
    EXPECT_FALSE(places.try_acquire());
}

TEST_P(blocking, what_is_released_at_once_goes_to_as_many_and_the_rest_is_kept) {
    counting_semaphore<> units(0);
    std::atomic<int> through{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 3; ++i)
            g.run([&] {
                units.acquire();
                ++through;
            });
        units.release(5);
        g.wait();
    });
    EXPECT_EQ(through, 3);
    EXPECT_TRUE(units.try_acquire());
    EXPECT_TRUE(units.try_acquire());
    EXPECT_FALSE(units.try_acquire());
}

// Either the waiter gets the unit or its wait times out, never both and never neither.
TEST_P(blocking, a_release_races_with_a_limit) {
    WEFT_SEEDED;
    std::minstd_rand random(static_cast<std::uint32_t>(test::seed));
    for (int i = 0; i < 30; ++i) {
        binary_semaphore s(0);
        bool got = false;
        const auto pause = std::chrono::microseconds(random() % 300);
        rt_.run([&] {
            join([&] { got = s.try_acquire_for(150us); },
                 [&] {
                     this_task::sleep_for(pause);
                     s.release();
                 });
        });
        EXPECT_EQ(s.try_acquire(), !got);
    }
}

// ---- sleep, yield, worker

TEST_P(blocking, sleepers_keep_no_worker) {
    const auto began = std::chrono::steady_clock::now();
    std::atomic<int> slept{0};
    rt_.run([&] {
        task_group g;
        for (int i = 0; i < 100; ++i)
            g.run([&] {
                this_task::sleep_for(20ms);
                ++slept;
            });
        g.wait();
    });
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_EQ(slept, 100);
    EXPECT_GE(took, 20ms);
    EXPECT_LT(took, 100 * 20ms); // one after the other it would be this on one worker
}

TEST_P(blocking, a_yielding_task_lets_the_others_go_on) {
    std::atomic<bool> told{false};
    int yields = 0;
    rt_.run([&] {
        join(
            [&] {
                while (!told) {
                    this_task::yield();
                    ++yields;
                }
            },
            [&] { told = true; });
    });
    EXPECT_GT(yields + 1, 0);
}

TEST_P(blocking, the_worker_has_a_rank) {
    EXPECT_EQ(this_task::worker(), -1);
    rt_.run([&] {
        parallel_for(0, 100, [&](int) {
            EXPECT_GE(this_task::worker(), 0);
            EXPECT_LT(this_task::worker(), rt_.workers());
        });
    });
    this_task::yield();
    this_task::sleep_for(0ms);
    this_task::sleep_for(1us);
}

// ---- several runtimes and threads

TEST(blocking_apart, two_runtimes_and_a_thread_play_ball) {
    for (const std::string policy : {"steal", "share", "steal-parent-first"}) {
        runtime one(test::setup{policy, 1}.options()), two(test::setup{policy, 2}.options());
        binary_semaphore to_one(1), to_two(0), to_thread(0);
        int rounds = 0;
        const auto play = [&](binary_semaphore& mine, binary_semaphore& next) {
            for (int i = 0; i < many; ++i) {
                mine.acquire();
                ++rounds;
                next.release();
            }
        };
        std::thread thread([&] { play(to_thread, to_one); });
        std::thread other([&] { two.run([&] { play(to_two, to_thread); }); });
        one.run([&] { play(to_one, to_two); });
        other.join();
        thread.join();
        EXPECT_EQ(rounds, 3 * many);
    }
}

TEST(blocking_apart, threads_wait_with_limits) {
    binary_semaphore s(0);
    EXPECT_FALSE(s.try_acquire_for(1ms));
    std::thread later([&] {
        this_task::sleep_for(1ms);
        s.release();
    });
    EXPECT_TRUE(s.try_acquire_for(1h));
    later.join();
    EXPECT_FALSE(s.try_acquire_until(std::chrono::system_clock::now() + 1ms));
}

// A timer is on the stack of the waiting task, so it must not outlive the wait.
TEST(blocking_apart, no_timer_is_left_of_a_wait_that_its_event_has_ended) {
    test::bare_engine bare("steal-parent-first", test::options_of(1));
    bare.run([&] {
        binary_semaphore s(0);
        task_group g;
        g.run([&] {
            EXPECT_EQ(bare.engine.alarms.pending(), 1u);
            s.release();
        });
        EXPECT_TRUE(s.try_acquire_for(1h));
        EXPECT_EQ(bare.engine.alarms.pending(), 0u);
        g.wait();
    });
}

TEST(blocking_apart, an_exception_under_way_survives_a_wait) {
    runtime rt(test::setup{"steal", 2}.options());
    latch opened(1);
    struct waits_at_its_end {
        latch& l;
        ~waits_at_its_end() { l.wait(); }
    };
    const auto failure = test::failure_of([&] {
        rt.run([&] {
            task_group g;
            g.run([&] {
                this_task::sleep_for(1ms);
                try {
                    throw test::failure{2};
                } catch (const test::failure&) { opened.count_down(); }
            });
            const waits_at_its_end w{opened};
            throw test::failure{1};
        });
    });
    EXPECT_EQ(failure, 1);
}

// ---- relocking

/// Each ends the program instead of waiting for ever.
const std::vector<std::pair<const char*, void (*)()>> relocks = {
    {"root",
     [] {
         mutex m;
         m.lock();
         m.lock();
     }},
    {"task",
     [] {
         mutex m;
         task_group g;
         g.run([&] {
             const std::lock_guard guard(m);
             this_task::sleep_for(1ms); // it may go on, on another worker
             m.lock();
         });
         g.wait();
     }},
    {"next_owner",
     [] { // it has waited for the mutex
         mutex m;
         latch begun(1);
         task_group g;
         m.lock();
         g.run([&] {
             begun.count_down();
             m.lock();
             m.lock();
         });
         begun.wait();
         this_task::sleep_for(1ms);
         m.unlock();
         g.wait();
     }},
    {"try_lock",
     [] {
         mutex m;
         if (m.try_lock()) m.lock();
     }},
};

TEST(relock, is_reported) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const auto& [name, relock] : relocks)
        for (const auto& s : test::setups({"steal", "steal:zone=reported", "share"}, {1, 2})) {
            SCOPED_TRACE(std::string(name) + ", " + s.policy + ", " + std::to_string(s.workers));
            EXPECT_EXIT(
                runtime(s.options()).run(relock), testing::ExitedWithCode(1),
                "weft: deadlock: (root|task).* locks a mutex that it holds already; given: .*; allowed: ");
        }
    EXPECT_EXIT(relocks[0].second(), testing::ExitedWithCode(1),
                "weft: deadlock: a thread that is no worker locks a mutex that it holds already");
}

TEST(relock, is_in_the_report_of_a_modelled_machine) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    runtime_options o;
    o.policy = "steal";
    o.engine = "model";
    o.machine = std::string(WEFT_SOURCE_DIR) + "/machines/opteron-8380-4x4.toml";
    EXPECT_EXIT(runtime(o).run(relocks[0].second), testing::ExitedWithCode(1), "waits since .* for a mutex");
}

TEST(relock, of_a_task_that_took_the_record_of_the_owner_is_none) {
    // A record is used again by the next task: what it locks it holds itself.
    runtime rt(test::setup{"share", 1}.options());
    mutex m;
    int locked = 0;
    rt.run([&] {
        for (int i = 0; i < 50; ++i) {
            task_group g;
            for (int k = 0; k < 4; ++k)
                g.run([&] {
                    const std::lock_guard guard(m);
                    this_task::yield(); // the others wait for it
                    ++locked;
                });
            g.wait();
        }
    });
    EXPECT_EQ(locked, 200);
}

} // namespace
} // namespace weft
