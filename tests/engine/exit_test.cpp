// ctest: labels=not_tsan
//
// Every way in which the process can end: docs/processes.md has the rules. Each case is a process of its own,
// which an alarm ends if it hangs.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::fib;

int by_group(int n) {
    std::atomic<int> sum{0};
    task_group g;
    for (int i = 0; i < n; ++i) g.run([&] { sum += fib(5); });
    g.wait();
    return sum;
}

void expect(bool right) {
    if (!right) std::_Exit(77);
}

/// In its destructor it does what it was given.
struct at_the_end {
    std::function<void()> what;
    ~at_the_end() {
        if (what) what();
    }
};

runtime_options two(const char* policy = "steal") { return test::setup{policy, 2}.options(); }

/// Runs until the process ends.
[[noreturn]] void for_ever(std::atomic<bool>& began) {
    began = true;
    for (;;) std::this_thread::yield();
}

struct ending {
    const char* name;
    void (*run)(); ///< ends the process with status 3
};

std::ostream& operator<<(std::ostream& out, const ending& e) { return out << e.name; }

const ending endings[] = {
    {"the_default_runtime_idle",
     [] {
         expect(fib(10) == 55);
         std::exit(3);
     }},
    {"the_default_runtime_in_a_static_destructor",
     [] {
         static const at_the_end last{[] { expect(by_group(100) == 500); }};
         expect(fib(10) == 55);
         std::exit(3);
     }},
    {"the_default_runtime_for_the_first_time_in_a_static_destructor",
     [] {
         static const at_the_end last{[] { expect(by_group(100) == 500); }};
         std::exit(3);
     }},
    {"the_default_runtime_in_a_static_destructor_from_a_thread",
     [] {
         static const at_the_end last{[] { std::thread([] { expect(fib(10) == 55); }).join(); }};
         expect(fib(5) == 5);
         std::exit(3);
     }},
    {"a_static_runtime_idle",
     [] {
         static runtime rt(two());
         expect(rt.run([] { return fib(10); }) == 55);
         std::exit(3);
     }},
    {"a_static_runtime_never_used",
     [] {
         static const runtime rt(two("share"));
         std::exit(3);
     }},
    {"a_local_runtime",
     [] {
         runtime rt(two());
         expect(rt.run([] { return fib(10); }) == 55);
         std::exit(3); // its destructor is never called
     }},
    {"exit_in_a_task_of_the_default_runtime",
     [] {
         static const at_the_end last{[] { expect(by_group(100) == 500); }};
         join([] { std::exit(3); }, [] {});
     }},
    {"exit_in_a_task_of_a_static_runtime",
     [] {
         static runtime rt(two());
         rt.run([] {
             task_group g;
             g.run([] {
                 fib(10);
                 std::exit(3);
             });
             g.wait();
         });
     }},
    {"exit_in_a_task_of_another_runtime",
     [] {
         static runtime outer(two()), inner(two("steal-parent-first"));
         outer.run([] { inner.run([] { std::exit(3); }); });
     }},
    {"exit_in_a_task_of_a_local_runtime",
     [] {
         runtime rt(two("share"));
         rt.run([] {
             task_group g;
             for (int i = 0; i < 10; ++i)
                 g.run([i] {
                     if (i == 5) std::exit(3);
                     fib(10);
                 });
             g.wait();
         });
     }},
    {"exit_in_a_thread_beside_a_run_in_main",
     [] {
         static runtime rt(two());
         static std::atomic<bool> began{false};
         std::thread([] {
             while (!began) std::this_thread::yield();
             std::exit(3);
         }).detach();
         rt.run([] { for_ever(began); });
     }},
    {"exit_beside_a_run_in_a_thread",
     [] {
         static runtime rt(two());
         static std::atomic<bool> began{false};
         std::thread([] { rt.run([] { for_ever(began); }); }).detach();
         while (!began) std::this_thread::yield();
         std::exit(3);
     }},
    {"exit_beside_a_run_of_the_default_runtime_in_a_thread",
     [] {
         static std::atomic<bool> began{false};
         std::thread([] { join([] { for_ever(began); }, [] {}); }).detach();
         while (!began) std::this_thread::yield();
         std::exit(3);
     }},
    {"exit_beside_threads_that_use_the_default_runtime_again_and_again",
     [] {
         static std::atomic<int> runs{0};
         for (int t = 0; t < 4; ++t)
             std::thread([] {
                 for (;;) {
                     expect(fib(6) == 8);
                     ++runs;
                 }
             }).detach();
         while (runs < 100) std::this_thread::yield();
         std::exit(3);
     }},
    {"quick_exit_beside_a_run",
     [] {
         static runtime rt(two());
         static std::atomic<bool> began{false};
         std::thread([] { rt.run([] { for_ever(began); }); }).detach();
         while (!began) std::this_thread::yield();
         std::quick_exit(3);
     }},
    {"quick_exit_in_a_task", [] { join([] { std::quick_exit(3); }, [] {}); }},
    {"immediate_exit_in_a_task", [] { join([] { _exit(3); }, [] {}); }},
};

class endings_of_the_process : public testing::TestWithParam<ending> {};

INSTANTIATE_TEST_SUITE_P(all, endings_of_the_process, testing::ValuesIn(endings),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(endings_of_the_process, come_without_waiting_or_crashing) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            alarm(30);
            GetParam().run();
        },
        testing::ExitedWithCode(3), "^$");
}

// A runtime that is destroyed by one of its own tasks is left behind; that task and the others continue.
TEST(a_runtime_destroyed_while_a_run_is_open, is_left_behind) {
    auto rt = std::make_unique<runtime>(two());
    runtime& same = *rt;
    EXPECT_EQ(same.run([&] {
        rt.reset();
        return fib(10);
    }),
              55);
}

} // namespace
} // namespace weft
