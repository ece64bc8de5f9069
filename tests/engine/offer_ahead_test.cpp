// ctest: tsan_cases=*on_threads* asan_cases=-modelled/*
//
// Programs whose forks follow one another, as along a list: each steal brings one short task, and the rest of the program is
// a hidden entry of the worker that has just got it. Workers that offer their next entries ahead of an ask keep the
// others busy.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"

namespace weft {
namespace {

const std::vector<std::string> policies_that_offer_ahead = {"steal", "near", "pws"};

/// A list of tasks: at each element one fork, of the element's task and of the rest of the list.
enum class shape : std::uint8_t { join_task_rest, join_rest_task, group_task_rest, group_rest_task };

template <class Task>
void walk(shape s, int elements, const Task& task) {
    if (elements == 0) return;
    const auto rest = [s, elements, &task] { walk(s, elements - 1, task); };
    const auto here = [elements, &task] { task(elements); };
    task_group g;
    switch (s) {
    case shape::join_task_rest: join(here, rest); return;
    case shape::join_rest_task: join(rest, here); return;
    case shape::group_task_rest:
        g.run(here);
        rest();
        break;
    case shape::group_rest_task:
        g.run(rest);
        here();
        break;
    }
    g.wait();
}

constexpr shape shapes[] = {shape::join_task_rest, shape::join_rest_task, shape::group_task_rest,
                            shape::group_rest_task};

// ---- in virtual time

constexpr time_ns usual_patience = 100'000; ///< how long a worker looks for work before it sleeps

struct modelled_case {
    std::string policy;
    shape program;
    test::cores on;
    std::uint64_t cycles; ///< of a task; at 1 GHz, so nanoseconds

    friend std::ostream& operator<<(std::ostream& out, const modelled_case& c) {
        constexpr const char* names[] = {"join(task, rest)", "join(rest, task)", "group(task), rest",
                                         "group(rest), task"};
        return out << c.policy << ", " << names[static_cast<int>(c.program)] << ", " << c.on.packages << "x"
                   << c.on.cores_per_domain << " cores, " << c.cycles << " cycles";
    }
};

std::vector<modelled_case> modelled_cases() {
    std::vector<modelled_case> all;
    for (const std::string& policy : policies_that_offer_ahead)
        for (const shape s : shapes)
            for (test::cores on : {test::cores{.cores_per_domain = 2}, test::cores{.cores_per_domain = 4},
                                   test::cores{.packages = 4, .cores_per_domain = 8}}) {
                on.cost = test::runtime_cost::usual;
                for (const std::uint64_t cycles : {1000, 10'000, 100'000})
                    if ((cycles > 1000 || on.packages == 1) && (!test::sanitized || on.cores_per_domain == 2))
                        all.push_back({policy, s, on, cycles});
            }
    return all;
}

class lists : public testing::TestWithParam<modelled_case> {
protected:
    static constexpr int elements = test::sanitized ? 300 : 2000;

    static time_ns timed(const modelled_case& c, const machine& on) {
        test::modelled m(make_policy(c.policy), on, 1, usual_patience);
        return m.run([&] { walk(c.program, elements, [&](int) { cost(c.cycles); }); });
    }
};

INSTANTIATE_TEST_SUITE_P(modelled, lists, testing::ValuesIn(modelled_cases()));

/// A task and a steal follow one another along the list, so more than a task's length over the time of a steal is not
/// possible.
TEST_P(lists, keep_the_workers_busy) {
    const modelled_case& c = GetParam();
    const machine on = c.on.build();
    constexpr double steal = 750;
    const double possible = std::min<double>(on.size(), static_cast<double>(c.cycles) / steal);
    const double speed_up = static_cast<double>(c.cycles) * elements / static_cast<double>(timed(c, on));
    EXPECT_GE(speed_up, 0.85 * possible);
}

TEST(offers_ahead, are_few_while_no_worker_takes_them) {
    test::modelled m(make_policy("steal"), test::cores{.cores_per_domain = 2}.build(), 1, usual_patience);
    m.run([] {
        join([] { cost(10'000'000); },
             [] { // the other worker, which has got this by a steal while no worker searches
                 const auto tree = [](const auto& self, int depth) -> void {
                     cost(10);
                     if (depth > 0) join([&] { self(self, depth - 1); }, [&] { self(self, depth - 1); });
                 };
                 tree(tree, 12);
             });
    });
    const auto offers = m.engine.worker_at(1).count.exposures.get();
    EXPECT_GE(offers, 1u);
    EXPECT_LE(offers, 4u);
}

// ---- on threads

/// Long enough that offering ahead pays.
void work() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
    while (std::chrono::steady_clock::now() < until) {}
}

class lists_on_threads : public testing::TestWithParam<std::string> {
protected:
    static runtime_options with_workers(const std::string& policy, int workers) {
        return test::setup{policy, workers}.options();
    }
};

INSTANTIATE_TEST_SUITE_P(policies, lists_on_threads, testing::ValuesIn(policies_that_offer_ahead),
                         [](const auto& given) { return given.param; });

TEST_P(lists_on_threads, run_each_task_once) {
    for (const int workers : {2, 4}) {
        runtime rt(with_workers(GetParam(), workers));
        for (const shape s : shapes) {
            constexpr int elements = 200;
            std::vector<std::atomic<int>> ran(elements + 1);
            rt.run([&] {
                walk(s, elements, [&](int i) {
                    work();
                    ++ran[static_cast<std::size_t>(i)];
                });
            });
            for (int i = 1; i <= elements; ++i) ASSERT_EQ(ran[static_cast<std::size_t>(i)], 1) << i;
        }
    }
}

TEST_P(lists_on_threads, pass_exceptions_on) {
    runtime rt(with_workers(GetParam(), 2));
    for (const shape s : shapes)
        for (const int thrower : {1, 50, 100})
            EXPECT_THROW(rt.run([&] {
                walk(s, 100, [&](int i) {
                    work();
                    if (i == thrower) throw std::runtime_error("a task");
                });
            }),
                         std::runtime_error);
}

} // namespace
} // namespace weft
