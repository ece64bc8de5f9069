// ctest: timeout=600 labels=slow,not_tsan
// ctest: asan_cases=-*hangs*
//
// Preempted tasks: tasks that wait for each other in loops make progress, and code that depends on its kernel thread keeps
// that thread. Outcomes and counts, never times. ThreadSanitizer keeps signals until the program calls it, so a loop that
// calls nothing is never preempted there. Y1 to Y7: src/engine/threads/preemption/README.md.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine/preempted.hpp"
#include "engine/process/signal_claim.hpp"

namespace weft {
namespace {

using test::preempting;
using test::spin_barrier;

constexpr int workers = 2, tasks_a_worker = 10, tasks = workers * tasks_a_worker;

/// One more for each way of stopping (Y2, Y3), and one for each way of ticking (Y6).
class ways_to_preempt : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(all, ways_to_preempt,
                         testing::Values("yield", "klt", "klt:park=sigsuspend", "klt:park=futex",
                                         "klt:timer=created", "klt:timer=one-to-all",
                                         "yield:timer=one-to-all", "klt:timer=chain", "yield:timer=chain",
                                         "klt:timer=hybrid,groups=2", "yield:timer=hybrid,groups=1",
                                         "klt:interval=200us", "yield:interval=200us"));

// ---- tasks that wait for each other

TEST(preemption, a_spin_barrier_hangs_without_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime rt(preempting("off", workers));
            spin_barrier all(tasks);
            alarm(1);
            test::run_all(rt, tasks, [&](int) { all.wait(); });
            std::_Exit(0);
        },
        testing::KilledBySignal(SIGALRM), "");
}

TEST_P(ways_to_preempt, tasks_pass_a_spin_barrier) {
    runtime rt(preempting(GetParam(), workers));
    spin_barrier all(tasks);
    const int times = test::rounds(3);
    std::atomic<int> passed{0};
    test::run_all(rt, tasks, [&](int) {
        for (int r = 0; r < times; ++r, ++passed) all.wait();
    });
    EXPECT_EQ(passed, tasks * times);
    const auto& p = test::preempter_of(rt);
    EXPECT_GT(GetParam().starts_with("klt") ? p.stops() : p.yields(), 0U);
    EXPECT_EQ(GetParam().starts_with("klt") ? p.yields() : p.stops(), 0U);
}

TEST_P(ways_to_preempt, tasks_pass_a_barrier_of_the_c_library) {
    runtime rt(preempting(GetParam(), workers));
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, tasks);
    std::atomic<int> passed{0};
    test::run_all(rt, tasks, [&](int) {
        for (int r = 0; r < 3; ++r, ++passed) pthread_barrier_wait(&all);
    });
    EXPECT_EQ(passed, tasks * 3);
    pthread_barrier_destroy(&all);
}

TEST_P(ways_to_preempt, one_worker_is_enough) {
    runtime rt(
        preempting(GetParam() == "klt:timer=hybrid,groups=2" ? "klt:timer=hybrid,groups=7" : GetParam(), 1));
    std::atomic<bool> told{false}, answered{false};
    rt.run([&] {
        task_group g;
        g.run([&] {
            while (!told) {}
            answered = true;
        });
        g.run([&] {
            told = true;
            while (!answered) {}
        });
        g.wait();
    });
    EXPECT_TRUE(answered);
}

// ---- what depends on the kernel thread

thread_local int of_this_thread = 0;
[[gnu::noinline, gnu::noipa]] int& word_of_this_thread() { return of_this_thread; }

int count_lost_words(const std::string& how, std::uint64_t& preempted) {
    runtime rt(preempting(how, workers));
    std::atomic<int> lost{0};
    test::run_all(rt, tasks, [&](int i) {
        for (int r = 0; r < 20; ++r) {
            word_of_this_thread() = i * 1000 + r;
            test::compute(2'000'000);
            if (word_of_this_thread() != i * 1000 + r) ++lost;
        }
    });
    const auto& p = test::preempter_of(rt);
    preempted = p.stops() + p.yields();
    return lost;
}

TEST(preemption, a_stopped_kernel_thread_keeps_its_words) {
    std::uint64_t preempted = 0;
    EXPECT_EQ(count_lost_words("klt", preempted), 0);
    EXPECT_GT(preempted, 20U);
}

/// The limit of the yielding type, which docs/preemption.md names.
TEST(preemption, a_task_that_yields_may_lose_its_words) {
    std::uint64_t preempted = 0;
    EXPECT_GT(count_lost_words("yield", preempted), 0);
}

/// The runtime does not wait for the lock of malloc (Y5). These tasks are in malloc most of the time, where none is stopped, so how
/// often one is stopped beside it depends on the machine.
TEST(preemption, tasks_allocate_while_their_kernel_threads_stop) {
    std::uint64_t stops = 0;
    for (int time = 0; time < test::rounds(3) || (stops <= 20 && time < 200); ++time) {
        runtime rt(preempting("klt:interval=100us", workers));
        test::run_all(rt, 6, [&](int i) {
            for (int r = 0; r < 30'000; ++r) {
                void* got[8];
                for (int k = 0; k < 8; ++k) {
                    got[k] = std::malloc(static_cast<std::size_t>(16 + r % 700 * k));
                    std::memset(got[k], i, 16);
                }
                for (void* p : got) std::free(p);
            }
        });
        stops += test::preempter_of(rt).stops();
    }
    EXPECT_GT(stops, 20U);
}

/// A tick that finds the task that calls this at the address `at`, with `top_of_stack` on its stack. Returns whether it has
/// preempted the task.
bool tick_at(std::uintptr_t at, std::uintptr_t top_of_stack = 0) {
    auto& w = static_cast<engine::thread_worker&>(*impl::hot_self());
    auto& preempter = static_cast<engine::thread_engine&>(w.engine).preemption;
    const std::uintptr_t stack[64] = {top_of_stack};
    ucontext_t interrupted{};
#if defined(__x86_64__)
    interrupted.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(at);
    interrupted.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(stack);
#elif defined(__aarch64__)
    interrupted.uc_mcontext.pc = at;
    interrupted.uc_mcontext.sp = reinterpret_cast<std::uintptr_t>(stack);
#endif
    const siginfo_t from_other_worker{};
    const auto before = preempter.yields();
    impl::hot_hold();
    preempter.on_tick(w, from_other_worker, interrupted, false);
    impl::hot_unhold();
    return preempter.yields() > before;
}

std::uintptr_t place_of(const char* function) {
    return reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, function));
}

/// Y10: each task that yields is left in the C library for so many ticks.
void expect_nineteen_ticks_in_the_c_library(const char* what) {
    const std::uintptr_t c_library = place_of("gnu_get_libc_version");
    for (int i = 0; i < 19; ++i) EXPECT_FALSE(tick_at(c_library)) << what << ", tick " << i;
}

TEST(preemption, ticks_in_the_c_library_are_those_of_one_task) {
    runtime rt(preempting("yield:interval=60s", 1,
                          "share")); // the worker goes on with its scheduler after each task
    test::run_all(rt, 2, [](int i) { expect_nineteen_ticks_in_the_c_library(i == 0 ? "first" : "second"); });
    test::run_all(rt, 1, [](int) {
        expect_nineteen_ticks_in_the_c_library("third");
        EXPECT_TRUE(tick_at(place_of("gnu_get_libc_version"))) << "it may copy for long";
    });
}

TEST(preemption, ticks_near_malloc_do_not_count_as_those_in_the_c_library) {
    const std::uintptr_t kernels_own = getauxval(AT_SYSINFO_EHDR);
    if (kernels_own == 0) GTEST_SKIP() << "this kernel maps no vDSO";
    runtime rt(preempting("yield:interval=60s", 1));
    test::run_all(rt, 1, [&](int) {
        for (int i = 0; i < 100; ++i) EXPECT_FALSE(tick_at(kernels_own + 64, place_of("malloc") + 8)) << i;
        expect_nineteen_ticks_in_the_c_library("after them");
    });
}

TEST(preemption, errno_stays_with_a_preempted_task) {
    for (const std::string how : {"klt", "yield"}) {
        runtime rt(preempting(how + ":interval=200us", workers));
        std::atomic<int> wrong{0};
        test::run_all(rt, 8, [&](int i) {
            const auto set = [](int e) { errno = e; };
            for (int r = 0; r < 20; ++r) {
                set(100 + i);
                test::compute(500'000);
                if (errno != 100 + i) ++wrong;
            }
        });
        if (how == "klt") { EXPECT_EQ(wrong, 0); }
    }
}

TEST(preemption, kernel_threads_are_bounded) {
    constexpr int many = 40;
    for (const std::string how : {"klt:interval=100us", "klt:interval=100us,park=futex,timer=one-to-all"}) {
        runtime rt(preempting(how, workers));
        spin_barrier all(many);
        std::atomic<std::size_t> most{0};
        auto& p = test::preempter_of(rt);
        test::run_all(rt, many, [&](int) {
            for (int r = 0; r < 3; ++r) {
                all.wait();
                for (std::size_t made = p.spares().made(), m = most;
                     made > m && !most.compare_exchange_weak(m, made);) {}
            }
        });
        EXPECT_LE(most, many + workers + 1)
            << "with the own threads: two for each worker, one for each task, and the last one";
        // After the burst the threads that are too many end, each when its worker has gone on to another one.
        constexpr std::size_t kept = 2 * workers + 2;
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (p.spares().made() > kept + workers && std::chrono::steady_clock::now() < limit)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        EXPECT_LE(p.spares().made(), kept + workers) << "the spare ones, and one that each worker runs on";
    }
}

TEST_P(ways_to_preempt, a_blocked_system_call_is_not_interrupted) {
    runtime rt(preempting(GetParam(), workers));
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    std::atomic<int> interrupted{0}, received{0};
    rt.run([&] {
        task_group g;
        for (int i = 0; i < 3; ++i)
            g.run([&] {
                char c = 0;
                for (int n = 0; n < 5; ++n) {
                    const auto got = ::read(pipe_ends[0], &c, 1);
                    if (got == 1) ++received;
                    if (got < 0 && errno == EINTR) ++interrupted;
                }
            });
        g.run([&] {
            for (int n = 0; n < 15; ++n) {
                test::compute(2'000'000);
                while (::write(pipe_ends[1], "x", 1) != 1) {}
            }
        });
        g.wait();
    });
    EXPECT_EQ(interrupted, 0);
    EXPECT_EQ(received, 15);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

// ---- types side by side

TEST(preemption, children_inherit_the_type_and_hints_change_it) {
    runtime rt(preempting("yield", workers));
    const auto type = [] { return impl::hot_self()->current->running->preempt_; };
    std::vector<preemption> seen(4);
    rt.run([&] {
        task_group g;
        g.run([&] { seen[0] = type(); });
        g.run(
            [&] {
                seen[1] = type();
                task_group inner;
                inner.run([&] { seen[2] = type(); });
                inner.wait();
            },
            {.preempt = preemption::klt});
        g.run([&] { seen[3] = type(); }, {.preempt = preemption::off});
        g.wait();
    });
    EXPECT_EQ(seen[0], preemption::yield);
    EXPECT_EQ(seen[1], preemption::klt);
    EXPECT_EQ(seen[2], preemption::klt);
    EXPECT_EQ(seen[3], preemption::off);
}

TEST(preemption, a_type_of_its_own_needs_no_setting) {
    for (const std::string policy : {"steal", "steal:zone=reported", "share"}) {
        runtime rt(preempting("", workers, policy));
        EXPECT_FALSE(test::preempter_of(rt).has_begun());
        spin_barrier all(tasks);
        std::atomic<int> passed{0};
        test::run_all(rt, tasks,
                      [&](int) {
                          all.wait();
                          ++passed;
                      },
                      {.preempt = preemption::klt});
        EXPECT_EQ(passed, tasks) << policy;
        EXPECT_TRUE(test::preempter_of(rt).has_begun());
    }
}

TEST(preemption, a_task_without_a_type_is_never_preempted) {
    runtime rt(preempting("klt:interval=200us", workers));
    std::atomic<int> moved{0};
    std::atomic<bool> done{false};
    rt.run([&] {
        task_group g;
        for (int i = 0; i < 4; ++i)
            g.run(
                [&] {
                    const auto here = this_task::worker();
                    const auto thread = pthread_self();
                    test::compute(20'000'000);
                    if (this_task::worker() != here || pthread_self() != thread) ++moved;
                },
                {.preempt = preemption::off});
        for (int i = 0; i < 4; ++i)
            g.run([&] {
                while (!done) {}
            });
        g.run([&] { done = true; });
        g.wait();
    });
    EXPECT_EQ(moved, 0);
}

/// The rule of docs/preemption.md about locks, with a guard: a holder that is preempted would never get its worker back.
TEST(preemption, a_guard_holds_the_tick_off) {
    runtime rt(preempting("klt:interval=200us", 1));
    std::atomic<bool> locked{false};
    int guarded = 0;
    const auto locked_steps = [&](int steps) {
        while (locked.exchange(true)) {}
        test::compute(steps);
        ++guarded;
        locked = false;
    };
    rt.run([&] {
        task_group g;
        for (int i = 0; i < 4; ++i)
            g.run([&] {
                for (int r = 0; r < 5; ++r) {
                    const preemption_guard here;
                    const preemption_guard nested;
                    locked_steps(500'000);
                }
            });
        for (int i = 0; i < 4; ++i) g.run([&] { locked_steps(1000); }, {.preempt = preemption::off});
        g.wait();
    });
    EXPECT_EQ(guarded, 24);
}

TEST(preemption, without_the_guard_a_lock_between_types_hangs) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime rt(preempting("klt", 1));
            std::atomic<bool> is_held{false};
            alarm(1);
            rt.run([&] {
                task_group g;
                g.run([&] {
                    is_held = true; // the lock
                    test::compute(1'000'000'000);
                    is_held = false;
                });
                g.run(
                    [&] {
                        while (is_held) {}
                    },
                    {.preempt = preemption::off});
                g.wait();
            });
            std::_Exit(0);
        },
        testing::KilledBySignal(SIGALRM), "");
}

// ---- off

std::string text_of(const char* file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(preemption, off_installs_nothing) {
    const auto handler = [] {
        struct sigaction now{};
        sigaction(engine::tick_signal(), nullptr, &now);
        return now.sa_handler;
    };
    const std::string timers_before = text_of("/proc/self/timers");
    for (const std::string how : {"off", ""}) {
        runtime rt(preempting(how, workers));
        test::run_all(rt, tasks, [&](int) { test::compute(100'000); });
        EXPECT_EQ(handler(), SIG_DFL);
        EXPECT_EQ(text_of("/proc/self/timers"), timers_before);
        EXPECT_FALSE(test::preempter_of(rt).has_begun());
    }
    {
        runtime rt(preempting("yield", workers));
        EXPECT_NE(handler(), SIG_DFL);
    }
    EXPECT_EQ(handler(), SIG_DFL) << "given back with the last engine";
    EXPECT_EQ(text_of("/proc/self/timers"), timers_before);
}

} // namespace
} // namespace weft
