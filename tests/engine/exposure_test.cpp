// ctest: labels=slow
//
// Hidden work is exposed: an entry of a fiber's chain reaches an idle worker by flag or by signal, oldest
// first, whatever its owner does at that moment. No entry is lost, run twice or kept hidden.
//
// Waits are busy and bounded. A leaf that waits calls nothing of the runtime, so only a signal can expose
// what is hidden beside it.
#include <weft/weft.hpp>

#include "api/options.hpp"
#include "engine/run/roots.hpp"
#include "engine/threads/thread_engine.hpp"
#include "policy/seam/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "engine/support.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr auto patience = 10s; // a longer wait never ends
constexpr int sizes_down = test::sanitized ? 10 : 1;

/// test::rounds(few), a tenth of them under a sanitizer.
int rounds(int few) { return std::max(test::rounds(few) / sizes_down, 2); }

std::atomic<int> calls_of_handler_before{0};
// Before the first runtime, which keeps the handler that it finds.
const bool handler_installed = [] {
    struct sigaction action{};
    action.sa_handler = [](int) { calls_of_handler_before.fetch_add(1); };
    sigemptyset(&action.sa_mask);
    return sigaction(SIGURG, &action, nullptr) == 0;
}();

/// Calls nothing of the runtime. A sanitizer delivers signals only in system calls, so under one it makes
/// some.
template <std::predicate Condition>
bool spin_until(Condition&& condition, std::chrono::nanoseconds limit = patience) {
    const auto until = clock_type::now() + limit;
    while (!condition()) {
        if (clock_type::now() > until) return condition();
        if constexpr (test::sanitized) std::this_thread::sleep_for(20us);
    }
    return true;
}
bool spin_until(const std::atomic<bool>& flag) {
    return spin_until([&] { return flag.load(std::memory_order_acquire); });
}
void spin_for(std::chrono::nanoseconds time) {
    const auto until = clock_type::now() + time;
    while (clock_type::now() < until) {}
}

impl::worker* me() { return impl::hot_self(); }

/// An engine whose internals the tests may read.
struct engine_under_test {
    explicit engine_under_test(int workers, std::size_t stack_bytes = std::size_t{1} << 20,
                               const std::string& policy = "steal")
        : settings([&] {
            runtime_options o;
            o.workers = workers;
            o.policy = policy;
            o.seed = test::seed;
            o.stack_bytes = stack_bytes;
            o.pin = "off";
            return api::resolve(o);
        }())
        , engine(make_policy(settings.policy), std::move(settings.machine), settings.threads) {}

    template <class F>
    void run(F&& f) {
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }
    std::uint64_t exposures() const {
        std::uint64_t sum = 0;
        for (const auto& w : engine.all_workers) sum += w->count.exposures.get();
        return sum;
    }
    bool others_parked() const {
        return engine.parked.count() + 1 == static_cast<std::size_t>(engine.worker_count());
    }

    api::settings settings;
    engine::thread_engine engine;
};

/// Sends the exposure signal to all workers, again and again, while it lives.
class storm {
public:
    explicit storm(engine_under_test& at, std::chrono::nanoseconds pause = 0ns)
        : thread_([this, &at, pause] {
            while (!over_.load(std::memory_order_relaxed)) {
                for (const auto& w : at.engine.all_workers) pthread_kill(w->thread, SIGURG);
                sent_.fetch_add(1, std::memory_order_relaxed);
                if (pause > 0ns) std::this_thread::sleep_for(pause);
            }
        }) {}
    ~storm() {
        over_.store(true);
        thread_.join();
    }
    std::uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }

private:
    std::atomic<bool> over_{false};
    std::atomic<std::uint64_t> sent_{0};
    std::thread thread_;
};

// ---- work beside a leaf that never polls

class exposure : public testing::TestWithParam<int> {
protected:
    engine_under_test under_test{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(workers, exposure, testing::Values(2, 3, 4));

/// The second closure beside a leaf that waits for it.
void expect_shared() {
    std::atomic<bool> done{false};
    bool seen = false;
    const impl::worker* other = nullptr;
    const impl::worker* const here = me();
    join([&] { seen = spin_until(done); },
         [&] {
             other = me();
             done.store(true, std::memory_order_release);
         });
    ASSERT_TRUE(seen) << "no worker took the second closure";
    EXPECT_NE(other, here);
}

// H5: the attention word.
TEST_P(exposure, of_what_lies_beside_a_leaf_that_never_polls) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(40) && !HasFatalFailure(); ++round)
        under_test.run([] { expect_shared(); });
    under_test.run([] {
        for (int round = 0; round < rounds(40) && !HasFatalFailure(); ++round) expect_shared();
    });
}

TEST_P(exposure, when_all_thieves_are_asleep) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(20) && !HasFatalFailure(); ++round)
        under_test.run([&, round] {
            ASSERT_TRUE(spin_until([&] { return under_test.others_parked(); })) << "they never sleep";
            if (round % 2) std::this_thread::sleep_for(1ms); // so that they are, not only about to be
            expect_shared();
        });
}

TEST_P(exposure, when_thieves_fall_asleep_meanwhile) {
    WEFT_SEEDED;
    std::minstd_rand random(static_cast<unsigned>(test::seed));
    for (int round = 0; round < rounds(100) && !HasFatalFailure(); ++round)
        under_test.run([&] {
            // A worker sleeps about 100 microseconds after its last piece of work.
            spin_for(std::chrono::microseconds(60 + random() % 80));
            expect_shared();
        });
}

/// Frames for all the others, then a leaf that waits for them; each of them waits for all the others too.
void expect_all_at_once(int frames, std::atomic<int>& started, int all, bool& seen) {
    auto arrive = [&started, all] {
        started.fetch_add(1);
        return spin_until([&] { return started.load() >= all; });
    };
    if (frames == 0) {
        seen = arrive();
        return;
    }
    bool seen_there = false;
    join([&] { expect_all_at_once(frames - 1, started, all, seen); }, [&] { seen_there = arrive(); });
    seen = seen && seen_there;
}

TEST_P(exposure, serves_all_waiting_thieves_out_of_one_chain) {
    WEFT_SEEDED;
    const int all = GetParam();
    for (const bool asleep : {false, true})
        for (int round = 0; round < rounds(10); ++round) {
            bool seen = false;
            std::atomic<int> started{0};
            under_test.run([&] {
                if (asleep) {
                    ASSERT_TRUE(spin_until([&] { return under_test.others_parked(); }));
                }
                expect_all_at_once(all - 1, started, all, seen);
            });
            ASSERT_TRUE(seen) << "of " << all << " only " << started << " ran at once; asleep: " << asleep;
        }
}

TEST_P(exposure, serves_all_waiting_thieves_out_of_groups) {
    WEFT_SEEDED;
    const int all = GetParam();
    for (const bool asleep : {false, true})
        for (int round = 0; round < rounds(10); ++round) {
            std::atomic<int> started{0}, seen{0};
            under_test.run([&] {
                if (asleep) {
                    ASSERT_TRUE(spin_until([&] { return under_test.others_parked(); }));
                }
                task_group g;
                for (int i = 0; i < all; ++i)
                    g.run([&] {
                        started.fetch_add(1);
                        if (spin_until([&] { return started.load() >= all; })) seen.fetch_add(1);
                    });
                g.wait();
            });
            ASSERT_EQ(seen.load(), all) << "only " << started << " ran at once; asleep: " << asleep;
        }
}

/// Counts what ran; the leaves are short, so the signals find their thread in the runtime as well as outside.
void count_tree(int depth, std::atomic<int>& leaves) {
    if (depth == 0) {
        leaves.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    if (depth % 3 == 0) {
        task_group g;
        g.run([&, depth] { count_tree(depth - 1, leaves); });
        g.run([&, depth] { count_tree(depth - 1, leaves); });
        g.wait();
    } else {
        join([&, depth] { count_tree(depth - 1, leaves); }, [&, depth] { count_tree(depth - 1, leaves); });
    }
}

TEST_P(exposure, in_a_storm_of_signals) {
    WEFT_SEEDED;
    const auto all = test::rounds(1) * 600ms;
    const auto until = clock_type::now() + all;
    for (const auto pause : {0us, 3us, 20us}) {
        const storm signals(under_test, pause);
        int round = 0;
        do {
            std::atomic<int> leaves{0};
            under_test.run([&] { count_tree(12, leaves); });
            ASSERT_EQ(leaves.load(), 1 << 12) << "round " << round;
            ++round;
        } while (clock_type::now() < until - (pause > 0us ? 0ms : all * 2 / 3) ||
                 signals.sent() < 1000 / sizes_down);
    }
}

TEST_P(exposure, by_signals_that_find_the_victim_in_the_runtime) {
    WEFT_SEEDED;
    // The worker is in the runtime most of the time; it must expose, on its way out, what it left hidden.
    for (int round = 0; round < rounds(50) && !HasFatalFailure(); ++round)
        under_test.run([&] {
            std::atomic<bool> done{false};
            bool seen = false;
            join(
                [&] {
                    task_group g;
                    const auto until = clock_type::now() + patience;
                    while (!done.load(std::memory_order_acquire) && clock_type::now() < until)
                        for (int i = 0; i < 16; ++i) g.run([] {});
                    g.wait();
                    seen = done.load(std::memory_order_acquire);
                },
                [&] { done.store(true, std::memory_order_release); });
            ASSERT_TRUE(seen);
        });
}

// ---- the starvation of a chain

void chain_of_leaves(int left, std::atomic<int>& ran) {
    if (left == 0) return;
    join(
        [&] {
            spin_for(3us);
            ran.fetch_add(1, std::memory_order_relaxed);
        },
        [&, left] { chain_of_leaves(left - 1, ran); });
}

/// The policy: with offers ahead of an ask, and without, so that each entry is asked for.
class exposure_of_a_chain : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(policies, exposure_of_a_chain, testing::Values("steal", "steal:wide=steal"));

TEST_P(exposure_of_a_chain, of_short_leaves_does_not_starve) {
    WEFT_SEEDED;
    constexpr int length = 20'000 / sizes_down;
    engine_under_test under_test(2, std::size_t{32} << 20, GetParam());
    // A request that is only looked at where a leaf ends finds nothing there, each time: 3 in 20,000. On a
    // busy machine the thief may sleep through most of a run, but not through all of them.
    std::uint64_t most = 0;
    const auto until = clock_type::now() + 6 * patience;
    do {
        const std::uint64_t before = under_test.exposures();
        std::atomic<int> ran{0};
        under_test.run([&] { chain_of_leaves(length, ran); });
        ASSERT_EQ(ran.load(), length);
        most = std::max(most, under_test.exposures() - before);
    } while (most <= 50 / sizes_down && clock_type::now() < until);
    EXPECT_GT(most, 50u / sizes_down);
}

// ---- answers to a thief that has found other work

TEST_P(exposure, loses_nothing_to_a_thief_that_found_other_work) {
    WEFT_SEEDED;
    constexpr int senders = 2, width = 8;
    const int all = rounds(200);
    std::atomic<int> roots{0}, halves{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> outside;
    for (int s = 0; s < senders; ++s)
        outside.emplace_back([&, s] {
            std::minstd_rand random(static_cast<unsigned>(test::seed) + static_cast<unsigned>(s));
            while (!over.load(std::memory_order_relaxed)) {
                under_test.run([&] { roots.fetch_add(1); });
                spin_for(std::chrono::microseconds(random() % 150));
            }
        });
    std::minstd_rand random(static_cast<unsigned>(test::seed) + 17);
    for (int round = 0; round < all; ++round) {
        const int leaf = static_cast<int>(random() % 80);
        under_test.run([&] {
            for (int i = 0; i < width; ++i)
                join([&] { spin_for(std::chrono::microseconds(leaf)), halves.fetch_add(1); },
                     [&] { halves.fetch_add(1); });
        });
        ASSERT_EQ(halves.load(), 2 * width * (round + 1)) << "leaves of " << leaf << " microseconds";
    }
    over = true;
    for (auto& t : outside) t.join();
    EXPECT_GT(roots.load(), 0);
}

// ---- order, and what blocks

// H4.
TEST(exposure_order, is_oldest_first_over_frames_and_continuations) {
    WEFT_SEEDED;
    // Asks alone: what is offered ahead lies elsewhere, so a thief may come to it after a younger entry.
    engine_under_test under_test(2, std::size_t{1} << 20, "steal:wide=steal");
    for (int round = 0; round < rounds(20); ++round) {
        // One victim that stays where it is, one thief: what the thief notes down is the order it was given.
        std::mutex lock;
        std::vector<std::string> order;
        std::atomic<int> noted{0};
        auto note = [&](const char* what) {
            const std::lock_guard held(lock);
            order.emplace_back(what);
            noted.fetch_add(1);
        };
        bool seen = false;
        under_test.run([&] {
            join(
                [&] {
                    join(
                        [&] {
                            task_group outer;
                            outer.run([&] {
                                join(
                                    [&] {
                                        task_group inner;
                                        inner.run([&] {
                                            join([&] { seen = spin_until([&] { return noted == 6; }); },
                                                 [&] { note("frame 6"); });
                                        });
                                        note("continuation 5");
                                        inner.wait();
                                    },
                                    [&] { note("frame 4"); });
                            });
                            note("continuation 3");
                            outer.wait();
                        },
                        [&] { note("frame 2"); });
                },
                [&] { note("frame 1"); });
        });
        ASSERT_TRUE(seen);
        const std::vector<std::string> expected{"frame 1", "frame 2",        "continuation 3",
                                                "frame 4", "continuation 5", "frame 6"};
        ASSERT_EQ(order, expected) << "round " << round;
    }
}

TEST(exposure_order, of_runs_in_a_loop_gives_each_child_once) {
    WEFT_SEEDED;
    for (const int workers : {2, 4}) {
        engine_under_test under_test(workers);
        for (int round = 0; round < rounds(20); ++round) {
            constexpr int children = 64;
            std::array<std::atomic<int>, children> ran{};
            under_test.run([&] {
                task_group g;
                for (int i = 0; i < children; ++i)
                    g.run([&, i] {
                        spin_for(std::chrono::microseconds(i % 7 * 5));
                        ran[static_cast<std::size_t>(i)].fetch_add(1);
                    });
                g.wait();
                for (const auto& each : ran) ASSERT_EQ(each.load(), 1);
            });
        }
    }
}

/// A group whose only child runs elsewhere and waits for what the waiter's fibers hide.
struct foreign_child {
    explicit foreign_child(int all) : needed(all) {
        g.run([this] { seen = spin_until([this] { return came.load() >= needed; }); });
    }
    const int needed;
    std::atomic<int> came{0};
    bool seen = false;
    task_group g; // its child runs in the default runtime, since this thread is no worker
};

class blocked_fiber : public testing::TestWithParam<int> {
protected:
    engine_under_test under_test{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(workers, blocked_fiber, testing::Values(1, 2, 3));

TEST_P(blocked_fiber, hides_no_older_frame) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(30); ++round) {
        foreign_child child(2);
        under_test.run([&] {
            join([&] { join([&] { child.g.wait(); }, [&] { child.came.fetch_add(1); }); },
                 [&] { child.came.fetch_add(1); });
        });
        ASSERT_TRUE(child.seen) << "round " << round;
    }
}

TEST_P(blocked_fiber, hides_no_older_continuation) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(30); ++round) {
        foreign_child child(4);
        under_test.run([&] {
            join(
                [&] {
                    task_group own;
                    own.run([&] {
                        join([&] { child.g.wait(); }, [&] { child.came.fetch_add(1); }); // frame
                    });
                    child.came.fetch_add(1); // continuation
                    own.run([&] { child.came.fetch_add(1); });
                    own.wait();
                },
                [&] { child.came.fetch_add(1); });
        });
        ASSERT_TRUE(child.seen) << "round " << round;
        EXPECT_EQ(child.came.load(), 4);
    }
}

// ---- what a program sees of the signals

TEST_P(exposure, keeps_errno) {
    WEFT_SEEDED;
    const storm signals(under_test, 5us);
    for (int round = 0; round < rounds(30); ++round) {
        bool kept = true, seen = false;
        under_test.run([&] {
            std::atomic<bool> done{false};
            join(
                [&] {
                    errno = 12'345;
                    seen = spin_until([&] {
                        kept = kept && errno == 12'345;
                        return done.load(std::memory_order_acquire);
                    });
                    spin_for(20us);
                    kept = kept && errno == 12'345;
                },
                [&] { done.store(true, std::memory_order_release); });
        });
        ASSERT_TRUE(seen);
        // A sanitizer's system calls in the loop may change it.
        if (!test::sanitized) { ASSERT_TRUE(kept) << "round " << round; }
    }
}

// X4: also if others look for work again and again.
TEST_P(exposure, interrupts_a_worker_that_hides_nothing_once) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(4); ++round) {
        std::atomic<bool> over{false};
        std::thread others([&] {
            while (!over.load()) {
                under_test.run([] {});
                std::this_thread::sleep_for(200us);
            }
        });
        int interrupted = 0;
        under_test.run([&] {
            timespec left{.tv_sec = 0, .tv_nsec = 50'000'000};
            while (nanosleep(&left, &left) < 0 && errno == EINTR) ++interrupted;
        });
        over.store(true);
        others.join();
        EXPECT_LT(interrupted, GetParam()) << "once by each of the others";
    }
}

TEST_P(exposure, restarts_a_blocking_read) {
    WEFT_SEEDED;
    if (test::thread_sanitized)
        GTEST_SKIP() << "ThreadSanitizer hands a signal on only after the system call";
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    for (int round = 0; round < rounds(4); ++round) {
        std::atomic<bool> reading{false}, beside{false};
        std::thread writer([&] {
            // The second half of the join must have come past the blocked reader first.
            EXPECT_TRUE(spin_until(beside));
            for (int i = 0; i < 200; ++i) {
                for (const auto& w : under_test.engine.all_workers) pthread_kill(w->thread, SIGURG);
                std::this_thread::sleep_for(50us);
            }
            const char byte = 'x';
            EXPECT_EQ(::write(ends[1], &byte, 1), 1);
        });
        under_test.run([&] {
            join(
                [&] {
                    char byte = 0;
                    reading = true;
                    const auto n = ::read(ends[0], &byte, 1);
                    EXPECT_EQ(n, 1) << "errno " << errno;
                    EXPECT_EQ(byte, 'x');
                },
                [&] {
                    EXPECT_TRUE(spin_until(reading));
                    beside.store(true, std::memory_order_release);
                });
        });
        writer.join();
    }
    close(ends[0]);
    close(ends[1]);
}

TEST(exposure_handler, leaves_other_threads_to_the_handler_before) {
    ASSERT_TRUE(handler_installed);
    engine_under_test under_test(2);
    const int before = calls_of_handler_before.load();
    pthread_kill(pthread_self(), SIGURG);
    EXPECT_EQ(calls_of_handler_before.load(), before + 1);
    under_test.run([] { pthread_kill(pthread_self(), SIGURG); });
    EXPECT_EQ(calls_of_handler_before.load(), before + 1) << "a worker's signal is the runtime's own";
    std::thread([] { pthread_kill(pthread_self(), SIGURG); }).join();
    EXPECT_EQ(calls_of_handler_before.load(), before + 2);
}

// ---- signals between the fibers

TEST_P(exposure, in_a_storm_while_fibers_switch) {
    WEFT_SEEDED;
    const storm signals(under_test);
    const auto until = clock_type::now() + test::rounds(1) * 300ms;
    int round = 0;
    do {
        constexpr int children = 2'000 / sizes_down;
        std::atomic<int> ran{0}, nested{0};
        under_test.run([&] {
            task_group g;
            for (int i = 0; i < children; ++i)
                g.run([&] {
                    ran.fetch_add(1, std::memory_order_relaxed);
                    task_group below;
                    below.run([&] { nested.fetch_add(1, std::memory_order_relaxed); });
                    below.wait();
                });
            g.wait();
            // Counted here, where the wait has just returned, and not where the root's end has ordered all.
            ASSERT_EQ(ran.load(), children);
            ASSERT_EQ(nested.load(), children);
        });
        ++round;
    } while (clock_type::now() < until && !HasFatalFailure());
    ASSERT_GT(round, 0);
}

TEST_P(exposure, in_a_storm_while_exceptions_fly) {
    WEFT_SEEDED;
    const storm signals(under_test, 5us);
    const auto until = clock_type::now() + test::rounds(1) * 200ms;
    do {
        under_test.run([&] {
            int caught = 0, ran = 0;
            for (int i = 0; i < 50; ++i) try {
                    std::atomic<int> halves{0};
                    join(
                        [&] {
                            join([&] { spin_for(1us), throw test::failure{i}; },
                                 [&] { halves.fetch_add(1); });
                        },
                        [&] { halves.fetch_add(1); });
                } catch (const test::failure& e) {
                    caught += e.number == i;
                    ++ran;
                }
            ASSERT_EQ(caught, 50);
            ASSERT_EQ(ran, 50);
        });
    } while (clock_type::now() < until && !HasFatalFailure());
}

// ---- the parent continues only when the child has its closure

/// Its move forks, and gives the parent's continuation every chance to be taken too early.
struct forks_when_moved {
    std::atomic<bool>* parent_went_on;
    bool* too_early;
    std::atomic<int>* halves;

    forks_when_moved(std::atomic<bool>* went_on, bool* early, std::atomic<int>* ran)
        : parent_went_on(went_on)
        , too_early(early)
        , halves(ran) {}
    forks_when_moved(forks_when_moved&& from) noexcept
        : parent_went_on(from.parent_went_on)
        , too_early(from.too_early)
        , halves(from.halves) {
        join(
            [&] {
                spin_until([&] { return parent_went_on->load(); }, 2ms);
                halves->fetch_add(1);
            },
            [&] { halves->fetch_add(1); });
        *too_early = *too_early || parent_went_on->load();
    }
    void operator()() const {}
};

TEST_P(exposure, of_a_parent_comes_after_the_move_of_the_closure) {
    WEFT_SEEDED;
    for (int round = 0; round < rounds(10); ++round) {
        std::atomic<bool> went_on{false};
        bool too_early = false;
        std::atomic<int> halves{0};
        under_test.run([&] {
            ASSERT_TRUE(spin_until([&] { return under_test.others_parked(); }));
            task_group g;
            g.run(forks_when_moved(&went_on, &too_early, &halves));
            went_on = true;
            g.wait();
        });
        ASSERT_EQ(halves.load(), 2);
        ASSERT_FALSE(too_early) << "round " << round;
    }
}

} // namespace
} // namespace weft
