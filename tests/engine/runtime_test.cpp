// runtime: one or several, from any thread, inside each other; what it returns, throws and reports.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <unistd.h>

#include "engine/support.hpp"

namespace weft {
namespace {

using test::await;
using test::failure;
using test::failure_of;
using test::lives;
using test::tracked;

using test::fib;

class runtimes : public testing::TestWithParam<test::setup> {
protected:
    runtime rt_{GetParam().options()};
};

INSTANTIATE_TEST_SUITE_P(all, runtimes,
                         testing::ValuesIn(test::setups_in_turn(test::policies_of_suite,
                                                                test::worker_counts)),
                         test::setup_name{});

TEST_P(runtimes, returns_what_the_function_returns) {
    EXPECT_EQ(rt_.run([] { return 7; }), 7);
    EXPECT_EQ(*rt_.run([] { return std::make_unique<int>(8); }), 8);
    EXPECT_EQ(rt_.run([](context ctx) { return join(ctx, [] { return 1; }, [] { return 2; }).second; }), 2);
    bool ran = false;
    static_assert(std::is_void_v<decltype(rt_.run([&] { ran = true; }))>);
    rt_.run([&] { ran = true; });
    EXPECT_TRUE(ran);
    lives results;
    {
        const tracked t = rt_.run([&] { return tracked(results, 3); });
        EXPECT_EQ(t.value, 3);
    }
    test::expect_all_dead(results);
}

TEST_P(runtimes, runs_on_a_worker) {
    EXPECT_EQ(this_task::worker(), -1);
    const int worker = rt_.run([] { return this_task::worker(); });
    EXPECT_GE(worker, 0);
    EXPECT_LT(worker, GetParam().workers);
    EXPECT_EQ(this_task::worker(), -1);
    EXPECT_EQ(rt_.workers(), GetParam().workers);
    EXPECT_EQ(rt_.policy(), GetParam().policy);
}

TEST_P(runtimes, throws_what_the_function_throws_and_goes_on) {
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(failure_of([&] { rt_.run([=] { throw failure{i}; }); }), i);
        EXPECT_EQ(rt_.run([] { return fib(5); }), 5);
    }
    try {
        rt_.run([]() -> int { throw std::make_unique<int>(4); });
        FAIL() << "nothing was thrown";
    } catch (const std::unique_ptr<int>& p) { EXPECT_EQ(*p, 4); }
}

TEST_P(runtimes, runs_inside_a_run_are_plain_calls) {
    rt_.run([&] {
        const auto thread = std::this_thread::get_id();
        int depth = 0;
        const std::function<void(int)> descend = [&](int left) {
            ++depth;
            if (left > 0) rt_.run([&] { descend(left - 1); });
        };
        descend(20);
        EXPECT_EQ(depth, 21);
        EXPECT_EQ(std::this_thread::get_id(), thread);
        EXPECT_EQ(rt_.run([] { return fib(8); }), 21);
        EXPECT_EQ(failure_of([&] { rt_.run([] { throw failure{5}; }); }), 5);
    });
}

TEST_P(runtimes, many_threads_at_once) {
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                if (rt_.run([] { return fib(8); }) == 21) ++right;
                if (failure_of([&] { rt_.run([&] { throw failure{t}; }); }) == t) ++right;
            }
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(right.load(), 8 * 40);
    EXPECT_GE(rt_.stats().tasks, 1u);
}

TEST_P(runtimes, a_run_in_another_runtime_suspends_the_task_only) {
    // With one worker here: it must be free for the code that sets the flag.
    runtime other(test::setup{"steal", 1}.options());
    std::atomic<bool> set{false};
    bool seen = false;
    rt_.run([&] {
        task_group g;
        g.run([&] { other.run([&] { seen = await(set); }); });
        g.run([&] { set.store(true, std::memory_order_release); });
        g.wait();
    });
    EXPECT_TRUE(seen);
}

TEST_P(runtimes, to_and_fro_between_two) {
    runtime other(test::setup{"steal-parent-first", 1}.options());
    const std::function<int(int)> ping = [&](int n) -> int {
        if (n == 0) return fib(5);
        return other.run([&] { return n + rt_.run([&] { return ping(n - 1); }); });
    };
    EXPECT_EQ(rt_.run([&] { return ping(10); }), 60);
    EXPECT_EQ(6,
              failure_of([&] { rt_.run([&] { other.run([&] { rt_.run([] { throw failure{6}; }); }); }); }));
}

// ---- statistics

TEST_P(runtimes, statistics_are_of_the_last_run) {
    rt_.run([] { fib(12); });
    const run_stats busy = rt_.stats();
    EXPECT_EQ(busy.policy, GetParam().policy);
    EXPECT_EQ(busy.workers, GetParam().workers);
    EXPECT_GE(busy.tasks, 1u);
    EXPECT_GT(busy.seconds, 0);
    EXPECT_GE(busy.idle_seconds, 0);
    EXPECT_GE(busy.busy_seconds, 0);
    EXPECT_NEAR(busy.idle_seconds + busy.busy_seconds, busy.seconds * GetParam().workers, 1e-9);
    EXPECT_EQ(busy.suppressed_exceptions, 0u);
    if (GetParam().workers == 1 || GetParam().policy == "serial") {
        EXPECT_EQ(busy.steals, 0u);
        EXPECT_EQ(busy.exposures, 0u);
    }
    rt_.run([] {});
    EXPECT_EQ(rt_.stats().tasks, 1u);
    EXPECT_EQ(rt_.stats().tasks, 1u); // reading changes nothing
}

TEST_P(runtimes, statistics_as_json) {
    rt_.run([] { fib(5); });
    const std::string text = rt_.stats().to_json();
    const std::string number = R"(-?\d+(\.\d+)?(e[-+]?\d+)?)";
    const std::regex object("\\{\"policy\": \"[^\"\\\\]*\"(, \"[a-z_]+\": (null|" + number + "))+\\}");
    EXPECT_TRUE(std::regex_match(text, object)) << text;
    for (const char* key :
         {"policy", "workers", "seconds", "tasks", "steals", "exposures", "suppressed_exceptions",
          "busy_seconds", "idle_seconds", "stack_high_water", "stack_bytes", "work_seconds"})
        EXPECT_NE(text.find("\"" + std::string(key) + "\": "), std::string::npos) << key;
}

TEST(runtime, serial_starts_one_task_a_run_and_reported_zones_count_all) {
    runtime serial(test::setup{"serial", 2}.options());
    serial.run([] { fib(10); });
    EXPECT_EQ(serial.stats().tasks, 1u);
    runtime reported(test::setup{"steal:zone=reported", 1}.options());
    reported.run([] { fib(10); });
    EXPECT_EQ(reported.stats().tasks, 1u + 2 * 88); // a root, and two for each of the joins
    reported.run([] {
        task_group g;
        for (int i = 0; i < 10; ++i) g.run([] {});
        g.wait();
    });
    EXPECT_EQ(reported.stats().tasks, 11u);
}

// ---- references

TEST(runtime, references_become_values) {
    const auto by_reference = [s = std::string("text")]() -> const std::string& { return s; };
    using returned = decltype(std::declval<runtime&>().run(by_reference));
    EXPECT_FALSE(std::is_reference_v<returned>) << "a reference to what run() keeps until its return";
}

// ---- births and deaths

TEST(runtime, several_at_once) {
    std::vector<std::unique_ptr<runtime>> all;
    for (const auto& s : test::setups(test::policies_of_suite, {1, 2}))
        all.push_back(std::make_unique<runtime>(s.options()));
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (auto& rt : all)
        threads.emplace_back([&] {
            for (int i = 0; i < 10; ++i)
                if (rt->run([] { return fib(10); }) == 55) ++right;
        });
    for (auto& t : threads) t.join();
    EXPECT_EQ(right.load(), static_cast<int>(10 * all.size()));
}

TEST(runtime, may_be_made_and_destroyed_often) {
    for (int i = 0; i < test::rounds(test::sanitized ? 50 : 200); ++i) {
        const auto& policy =
            test::policies_of_suite[static_cast<std::size_t>(i) % test::policies_of_suite.size()];
        runtime rt(test::setup{policy, 1 + i % 4}.options());
        if (i % 3 == 0) continue; // never used: its workers may not even have looked for work
        ASSERT_EQ(rt.run([] { return fib(6); }), 8);
    }
}

TEST(runtime, may_be_made_inside_a_task) {
    runtime outer(test::setup{"steal", 2}.options());
    const int sum = outer.run([] {
        const auto [a, b] = join(
            [] {
                runtime inner(test::setup{"steal-parent-first", 2}.options());
                return inner.run([] { return fib(8); });
            },
            [] {
                runtime inner(test::setup{"share", 1}.options());
                return inner.run([] { return fib(7); });
            });
        return a + b;
    });
    EXPECT_EQ(sum, 34);
}

TEST(runtime, may_be_destroyed_as_soon_as_its_last_run_is_over) {
    // The last thing of that run is a wake-up from a worker of another runtime.
    runtime other(test::setup{"steal", 2}.options());
    for (int i = 0; i < test::rounds(test::sanitized ? 50 : 200); ++i) {
        runtime brief(test::setup{"steal", 1 + i % 2}.options());
        ASSERT_EQ(brief.run([&] { return other.run([] { return 1; }); }), 1);
    }
}

// ---- iteration

TEST_P(runtimes, iteration_belongs_to_a_root_outside_its_parallel_regions) {
    rt_.run([] {
        for (int k = 0; k < 5; ++k) {
            iteration(k);
            EXPECT_EQ(fib(5), 5);
            task_group g;
            g.run([] {});
            g.wait();
        }
    });
    const auto refused = [](auto&& f) {
        try {
            f();
        } catch (const error& e) {
            return std::string(e.what()).find("parallel region") != std::string::npos;
        }
        return false;
    };
    rt_.run([&] {
        EXPECT_TRUE(refused([] { join([] { iteration(1); }, [] {}); })) << "first half of a join";
        EXPECT_TRUE(refused([] { parallel_for(0, 100, [](int) { iteration(1); }, {.grain = 1}); })) << "loop";
        EXPECT_TRUE(refused([] {
            task_group g;
            g.run([] { iteration(1); });
            g.wait();
        })) << "child of a group";
    });
    EXPECT_TRUE(refused([&] {
        rt_.run([](context ctx) { join(ctx, [](context) { iteration(1); }, [](context) {}); });
    })) << "first half of a join with a context";
}

// ---- the default runtime, in a process of its own

int default_runtime_in_a_fresh_process(const char* workers, const char* policy) {
    setenv("WEFT_WORKERS", workers, 1);
    setenv("WEFT_POLICY", policy, 1);
    std::atomic<int> sum{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { sum += fib(8); }); // the first use, at once
    for (auto& t : threads) t.join();
    const runtime& rt = runtime::default_runtime();
    const bool right = sum == 84 && rt.workers() == std::stoi(workers) && rt.policy() == policy;
    std::fprintf(stderr, "%d, %d workers, %s\n", sum.load(), rt.workers(), rt.policy().c_str());
    return right ? 0 : 1;
}

TEST(runtime_death, the_default_one_is_made_from_the_environment_at_first_use) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(std::exit(default_runtime_in_a_fresh_process("3", "steal-parent-first:order=fifo")),
                testing::ExitedWithCode(0), "84, 3 workers, steal-parent-first:order=fifo");
    EXPECT_EXIT(_exit(default_runtime_in_a_fresh_process("1", "serial")), testing::ExitedWithCode(0),
                "84, 1 workers");
}

TEST(runtime_death, a_bad_environment_is_an_exception_where_the_runtime_is_asked_for) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            setenv("WEFT_POLICY", "teleport", 1);
            try {
                runtime::default_runtime();
            } catch (const error& e) {
                std::fputs(e.what(), stderr);
                setenv("WEFT_POLICY", "steal", 1);
                std::_Exit(fib(3) == 2 ? 0 : 1); // and it can be mended
            }
            std::_Exit(1);
        },
        testing::ExitedWithCode(0), "teleport");
}

TEST(runtime_death, a_bad_environment_ends_a_program_that_asks_for_no_runtime) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            setenv("WEFT_POLICY", "teleport", 1);
            fib(3);
        },
        testing::ExitedWithCode(2), "weft: unknown policy.*teleport");
}

} // namespace
} // namespace weft
