// ctest: labels=not_tsan
//
// The system refuses the n-th thread or the n-th stack. Each refusal is an error that says what would help,
// leaves nothing behind, and does not hinder the next attempt. Functions of this program replace those of the
// C library and make the calls fail.
#include <weft/weft.hpp>

#include "task/fiber_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/bare_engine.hpp"
#include "engine/held.hpp"

namespace {

/// Counts calls, and lets those from the n-th on fail, `failures` times.
struct fault {
    std::atomic<int> until{std::numeric_limits<int>::max()};
    std::atomic<int> failures{0};

    void arm(int n, int times = std::numeric_limits<int>::max()) {
        failures = times;
        until = n;
    }
    void disarm() { until = std::numeric_limits<int>::max(); }
    bool strikes() {
        if (until == std::numeric_limits<int>::max()) return false;
        return --until <= 0 && failures-- > 0;
    }
};

constinit fault no_thread, no_stack;

template <class F>
F* next(const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) noexcept {
    static auto* const real =
        next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    if (no_thread.strikes()) return EAGAIN;
    return real(thread, attributes, start, argument);
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    static auto* const real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
    if ((flags & MAP_STACK) && no_stack.strikes()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return real(at, bytes, protection, flags, file, offset);
}
}

namespace weft {
namespace {

using test::fib;

long by_group(int n) {
    std::atomic<long> sum{0};
    task_group g;
    for (int i = 0; i < n; ++i) g.run([&] { sum += fib(5); });
    g.wait();
    return sum;
}

long resident_bytes() {
    long pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

/// The message of the error that making a runtime throws; nothing if it can be made.
std::optional<std::string> refusal(const runtime_options& o) {
    try {
        runtime rt(o);
        rt.run([] { EXPECT_EQ(fib(8), 21); });
        return std::nullopt;
    } catch (const error& e) { return e.what(); }
}

constexpr int workers = 5;

runtime_options options(const std::string& policy = "steal") {
    return test::setup{policy, workers}.options();
}

TEST(faults, every_thread_can_fail) {
    for (int n = 1; n <= workers; ++n) {
        no_thread.arm(n);
        const auto message = refusal(options());
        no_thread.disarm();
        ASSERT_TRUE(message) << n;
        EXPECT_NE(message->find("cannot create the thread of a worker"), std::string::npos) << *message;
        EXPECT_NE(message->find("given: 5 workers, " + std::to_string(n - 1) + " created"), std::string::npos)
            << *message;
        EXPECT_NE(message->find("allowed: fewer workers"), std::string::npos) << *message;
        EXPECT_EQ(refusal(options()), std::nullopt) << "afterwards";
    }
}

TEST(faults, every_first_stack_can_fail) {
    for (int n = 1; n <= 2 * workers; ++n) { // its first one, and one of the reserve, for each worker
        no_stack.arm(n);
        const auto message = refusal(options());
        no_stack.disarm();
        ASSERT_TRUE(message) << n;
        EXPECT_NE(message->find("cannot map a stack for a task"), std::string::npos) << *message;
        EXPECT_NE(message->find("given: stack_bytes = "), std::string::npos) << *message;
        EXPECT_NE(message->find("allowed: a smaller WEFT_STACK"), std::string::npos) << *message;
        EXPECT_EQ(refusal(options()), std::nullopt) << "afterwards";
    }
}

TEST(faults, without_a_thread_that_looks_at_the_machine_the_number_stays) {
    auto o = test::options_of(2);
    o.follow_cores = true;
    no_thread.arm(3);
    test::bare_engine e("steal", o);
    no_thread.disarm();
    e.run([] { EXPECT_EQ(fib(10), 55); });
    EXPECT_EQ(e.engine.outermost.active().size(), 2);
}

// In the silent zone a child runs on a stack of its own: without one, run() throws and the group remains
// usable.
TEST(faults, the_stack_of_a_child_can_fail) {
    for (const char* policy : {"steal", "near"}) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 1}.options());
        rt.run([] {
            task_group g;
            int ran = 0;
            no_stack.arm(1, 3);
            for (int i = 0; i < 3; ++i) {
                try {
                    g.run([&] { ran += 100; });
                    ADD_FAILURE() << "a stack from nowhere";
                } catch (const error& e) {
                    EXPECT_NE(std::string(e.what()).find("cannot map a stack"), std::string::npos)
                        << e.what();
                }
            }
            no_stack.disarm();
            for (int i = 0; i < 3; ++i) g.run([&] { ++ran; });
            g.wait();
            EXPECT_EQ(ran, 3);
        });
        EXPECT_EQ(rt.run([] { return by_group(50); }), 50 * 5);
    }
}

TEST(faults, a_child_without_a_stack_is_called_where_the_policy_allows_it) {
    runtime rt(test::setup{"steal:zone=reported", 1}.options());
    no_stack.arm(1);
    const long sum = rt.run([] {
        std::atomic<int> depth{0};
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([&] { ++depth; });
        g.wait();
        return depth.load();
    });
    no_stack.disarm();
    EXPECT_EQ(sum, 10);
}

TEST(faults, a_task_waits_on_a_stack_of_the_reserve) {
    for (const char* policy : {"share", "steal", "steal-parent-first"}) {
        SCOPED_TRACE(policy);
        runtime rt(test::setup{policy, 1}.options());
        rt.run([] {
            for (int round = 0; round < 20; ++round) { // the reserve gets it back each time
                task_group g;
                latch begun(1), open(1);
                int ran = 0;
                g.run([&] { begun.wait(), open.wait(), ++ran; });
                begun.count_down();
                this_task::yield();
                no_stack.arm(1);
                open.count_down();
                g.wait();
                no_stack.disarm();
                EXPECT_EQ(ran, 1);
            }
        });
    }
}

TEST(faults, spawns_without_a_stack_throw_where_waits_go_on) {
    runtime rt(test::setup{"steal", 2}.options());
    rt.run([] {
        latch open(1);
        std::atomic<int> ended{0};
        task_group g;
        int begun = 0;
        no_stack.arm(40);
        try {
            for (; begun < 1000; ++begun)
                g.run([&] {
                    open.wait();
                    ++ended;
                });
            ADD_FAILURE() << "stacks from nowhere";
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find("cannot map a stack"), std::string::npos) << e.what();
        }
        EXPECT_GT(begun, 10);
        open.count_down();
        g.wait();
        no_stack.disarm();
        EXPECT_EQ(ended, begun);
    });
}

TEST(faults, a_task_that_cannot_be_put_aside_ends_the_program) {
    // Other tasks hold addresses in its stack, so it cannot be unwound.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            runtime rt(test::setup{"share", 1}.options());
            rt.run([] {
                task_group g;
                latch never(1);
                g.run([&] { never.wait(); }); // it begins on the stack of the reserve
                no_stack.arm(1);
                g.wait();
            });
        },
        testing::KilledBySignal(SIGABRT), "a waiting task cannot be suspended: cannot map a stack");
}

/// 0 if a program without room for more stacks is told so, and goes on.
int spawn_in_little_room() {
    runtime rt(test::setup{"steal", 2}.options());
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (rlim_t{600} << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    return rt.run([] {
        for (int round = 0; round < 3; ++round) {
            latch open(1);
            std::atomic<int> ended{0};
            task_group g;
            int begun = 0;
            try {
                for (;; ++begun)
                    g.run([&] {
                        open.wait();
                        ++ended;
                    });
            } catch (const error&) {}
            open.count_down();
            g.wait();
            if (begun < 10)
                return 1; // a worker keeps up to 16 free stacks for itself, and malloc some room a thread
            if (ended != begun) return 3;
        }
        return fib(15) == 610 ? 0 : 2;
    });
}

TEST(faults, one_failed_mapping_is_no_lasting_shortage) {
    fiber_pool pool(std::size_t{1} << 20, 0, [](arrival) {});
    no_stack.arm(1);
    EXPECT_THROW(pool.take(), error);
    no_stack.disarm();
    EXPECT_FALSE(pool.is_short()) << "workers would expose nothing from now on";
}

/// 0 if joins that wait for each other in a breadth-first order get by with little room. Without a limit of addresses
/// more than 40,000 of them would wait at once.
int join_in_little_room(const std::string& policy, const std::string& engine) {
    runtime_options o = test::setup{policy, 2}.options();
    if (engine == "model") {
        o.engine = engine;
        o.machine = "pack:4 core:4 pu:1";
        o.workers = 16; // one thread, which has one stack in reserve
    }
    runtime rt(o);
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (rlim_t{1000} << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    return rt.run([] { return fib(24); }) == 46368 ? 0 : 1;
}

TEST(faults, joins_get_by_with_little_room) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers need terabytes of addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (const std::string engine : {"threads", "model"})
        for (const std::string policy :
             {"share", "steal-parent-first", "steal:zone=reported", "steal", "adws"})
            EXPECT_EXIT(_exit(join_in_little_room(policy, engine)), testing::ExitedWithCode(0), "")
                << policy << ", " << engine;
}

TEST(faults, a_limit_of_addresses_is_an_exception_of_the_spawn) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers need terabytes of addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(_exit(spawn_in_little_room()), testing::ExitedWithCode(0), "");
}

/// 0 if too many workers are refused, and a few are not.
int make_many_in_little_room() {
    long pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (rlim_t{200} << 20);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
    for (const int many : {100, 1000}) {
        const auto message = refusal(test::setup{"steal", many}.options());
        if (!message || message->find("; allowed: ") == std::string::npos) return 1;
    }
    return refusal(test::setup{"steal", 2}.options()) ? 2 : 0;
}

TEST(faults, a_limit_of_memory_is_an_error) {
    if (test::sanitized) GTEST_SKIP() << "the sanitizers need terabytes of addresses";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(_exit(make_many_in_little_room()), testing::ExitedWithCode(0), "");
}

TEST(faults, nothing_is_left_of_a_thousand_runtimes_made_or_refused) {
    const int all = test::sanitized ? 300 : 1000, warm = all / 4;
    std::size_t files = 0, threads = 0, maps = 0;
    long resident = 0;
    for (int i = 0; i < all; ++i) {
        if (i == warm) {
            files = test::entries("/proc/self/fd");
            threads = test::entries("/proc/self/task");
            maps = test::mappings();
            resident = resident_bytes();
        }
        if (i % 4 == 1) no_thread.arm(1 + i / 4 % workers);
        if (i % 4 == 3) no_stack.arm(1 + i / 4 % workers);
        const auto message = refusal(
            options(test::policies_of_suite[static_cast<std::size_t>(i) % test::policies_of_suite.size()]));
        no_thread.disarm();
        no_stack.disarm();
        ASSERT_EQ(message.has_value(), i % 2 == 1) << message.value_or("");
    }
    EXPECT_EQ(test::entries("/proc/self/fd"), files);
    EXPECT_TRUE(test::await([&] { return test::entries("/proc/self/task") <= threads; }));
    if (test::sanitized) return;                        // their allocators keep what was freed
    EXPECT_LE(test::mappings(), maps + 50);             // malloc's arenas come and go
    EXPECT_LE(resident_bytes(), resident + (4L << 20)); // 5 KB each
}

} // namespace
} // namespace weft
