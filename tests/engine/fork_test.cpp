// ctest: labels=not_tsan,not_asan
//
// fork(), from outside and from inside of tasks: docs/processes.md has the rules.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::fib;

runtime_options two(const char* policy = "steal") { return test::setup{policy, 2}.options(); }

/// What `f` returns in a child, which an alarm ends if it hangs; -1 if it ended otherwise.
template <class F>
int in_a_child(F&& f) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(f());
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The message of the error that run() throws.
std::string refusal(runtime& rt) {
    try {
        rt.run([] {});
    } catch (const error& e) { return e.what(); }
    return {};
}

class forks : public testing::Test {
protected:
    void SetUp() override {
        if (test::thread_sanitized) GTEST_SKIP() << "ThreadSanitizer allows no new threads after a fork";
    }
};

TEST_F(forks, the_default_runtime_is_made_anew) {
    EXPECT_EQ(in_a_child([] { return fib(10); }), 55) << "before its first use";
    EXPECT_EQ(fib(10), 55);
    EXPECT_EQ(in_a_child([] { return fib(10); }), 55);
    EXPECT_EQ(in_a_child([] { return fib(6) + in_a_child([] { return fib(7); }); }), 21) << "of a child";
    runtime& before = runtime::default_runtime();
    EXPECT_EQ(in_a_child([&] {
                  const bool other = &runtime::default_runtime() != &before;
                  return other && !refusal(before).empty() && fib(6) == 8 ? 4 : 5;
              }),
              4);
    EXPECT_EQ(fib(10), 55);
}

TEST_F(forks, a_runtime_of_before_says_so_and_lets_go) {
    std::optional<runtime> rt(two());
    EXPECT_EQ(rt->run([] { return fib(10); }), 55);
    EXPECT_EQ(in_a_child([&] {
                  const std::string text = refusal(*rt);
                  rt.reset();
                  return text.find("fork()") != std::string::npos && text.find("allowed") != std::string::npos
                             ? 4
                             : 5;
              }),
              4);
    EXPECT_EQ(rt->run([] { return fib(10); }), 55);
}

TEST_F(forks, new_runtimes_work) {
    runtime rt(two());
    rt.run([] { fib(10); });
    for (const auto& policy : test::policies_of_suite)
        EXPECT_EQ(in_a_child([&] {
                      runtime one(test::setup{policy, 3}.options());
                      runtime two(test::setup{policy, 1}.options());
                      return one.run([&] { return fib(7) + two.run([] { return fib(6); }); });
                  }),
                  21)
            << policy;
}

TEST_F(forks, the_handlers_stay_with_the_parent) {
    if (test::sanitized) GTEST_SKIP() << "a sanitizer has handlers of its own";
    const auto is_default = [](int signal) {
        struct sigaction now{};
        sigaction(signal, nullptr, &now);
        return !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
    };
    runtime rt(two());
    EXPECT_EQ(in_a_child([&] {
                  const bool none = is_default(SIGURG) && is_default(SIGSEGV) && is_default(SIGBUS);
                  fib(5);
                  return none && !is_default(SIGURG) && !is_default(SIGSEGV) ? 4 : 5;
              }),
              4);
    EXPECT_FALSE(is_default(SIGURG));
}

TEST_F(forks, a_child_may_end_by_exit) {
    // What is of static duration is destroyed in the child, a runtime of the parent too.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            static runtime rt(two());
            rt.run([] { fib(10); });
            fib(10);
            const pid_t child = fork();
            alarm(30);
            if (child == 0) std::exit(fib(10) == 55 ? 3 : 4);
            int status = 0;
            waitpid(child, &status, 0);
            std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
        },
        testing::ExitedWithCode(3),
        test::sanitized ? "" : "^$"); // the leak checker may say that it saw threads
}

TEST_F(forks, beside_threads_that_make_and_use_runtimes) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (int i = t; !stop; ++i) {
                runtime rt(
                    two(test::policies_of_suite[static_cast<std::size_t>(i) % test::policies_of_suite.size()]
                            .c_str()));
                rt.run([] { fib(8); });
                fib(8);
            }
        });
    for (int i = 0; i < (test::sanitized ? 10 : 40); ++i)
        EXPECT_EQ(in_a_child([] {
                      runtime rt(two());
                      return fib(6) + rt.run([] { return fib(7); });
                  }),
                  21);
    stop = true;
    for (auto& t : threads) t.join();
}

// ---- from inside of a task

class forks_in_tasks : public testing::TestWithParam<test::setup> {};

INSTANTIATE_TEST_SUITE_P(all, forks_in_tasks,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite, {1, 2})),
                         test::setup_name{});

TEST_P(forks_in_tasks, the_child_may_exec_or_end_at_once) {
    runtime rt(GetParam().options());
    std::atomic<int> right{0};
    rt.run([&] {
        task_group g;
        for (int i = 0; i < 12; ++i)
            g.run([&, i] {
                fib(10);
                const pid_t child = fork();
                if (child == 0) {
                    if (i % 2) _exit(i);
                    execl("/bin/sh", "sh", "-c", ("exit " + std::to_string(i)).c_str(), nullptr);
                    _exit(99);
                }
                int status = 0;
                if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == i)
                    ++right;
                fib(10);
            });
        g.wait();
    });
    EXPECT_EQ(right, 12);
}

TEST_P(forks_in_tasks, programs_may_be_started) {
    runtime rt(GetParam().options());
    std::atomic<int> right{0};
    rt.run([&] {
        parallel_for(0, 8,
                     [&](int i) {
                         if (i % 2) {
                             const int status = std::system(("exit " + std::to_string(i)).c_str());
                             if (WIFEXITED(status) && WEXITSTATUS(status) == i) ++right;
                         } else {
                             FILE* const out = popen(("echo " + std::to_string(i)).c_str(), "r");
                             int read = -1;
                             if (out && std::fscanf(out, "%d", &read) == 1 && read == i && pclose(out) == 0)
                                 ++right;
                         }
                     },
                     {.grain = 1});
    });
    EXPECT_EQ(right, 8);
}

} // namespace
} // namespace weft
