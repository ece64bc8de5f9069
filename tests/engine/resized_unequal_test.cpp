// ctest: labels=not_tsan
// The number of active workers changes under policies for unequal cores, on emulated speeds and in the model, also so that only
// fast or only slow cores are left: every task runs, once, and none on a worker that was inactive when its run began.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/support.hpp"
#include "engine/worker/worker.hpp"

namespace weft {
namespace {

constexpr int all_workers = 4;

struct unequal_setup {
    std::string engine, policy, speeds;
};

class unequal_resized : public testing::TestWithParam<unequal_setup> {
protected:
    static runtime_options options() {
        runtime_options o;
        o.engine = GetParam().engine;
        o.policy = GetParam().policy;
        o.speeds = GetParam().speeds;
        o.workers = all_workers;
        o.seed = test::seed;
        if (o.engine == "model") {
            o.machine = "pack:1 core:4 pu:1";
            o.costs = "declared";
        }
        return o;
    }
};

std::vector<unequal_setup> unequal_setups() {
    std::vector<unequal_setup> all;
    for (const char* engine : {"threads", "model"}) {
        for (const char* policy : {"heft", "heft:cost=history", "dheft", "cats", "cats:steal=off", "aats",
                                   "aats:mode=pipeline", "aats:ts=on", "speed"})
            for (const char* speeds : {"1,1,0.5,0.5", "0.5,0.5,1,1"}) all.push_back({engine, policy, speeds});
    }
    return all;
}

std::string name_of_setup(const testing::TestParamInfo<unequal_setup>& of) {
    std::string name = of.param.engine + "_" + of.param.policy + "_" + of.param.speeds;
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

INSTANTIATE_TEST_SUITE_P(all, unequal_resized, testing::ValuesIn(unequal_setups()), name_of_setup);

/// A graph of three chains, of which a task spawns a few more; `in_task(i)` is called in task i of the graph.
template <class InTask>
void run_graph(int tasks, std::atomic<int>& ran, InTask in_task) {
    graph dag;
    std::vector<graph_task> of;
    for (int i = 0; i < tasks; ++i) {
        std::vector<graph_task> before;
        if (i > 2) before.push_back(of[static_cast<std::size_t>(i - 3)]);
        of.push_back(dag.add(
            [&, i] {
                in_task(i);
                cost(static_cast<std::uint64_t>(1000 + 100 * (i % 7)));
                task_group g;
                for (int k = 0; k < i % 4; ++k) g.run([&] { ++ran; }, {.name = "child"});
                g.wait();
                ++ran;
            },
            hints{.work = static_cast<double>(1 + i % 5), .name = i % 2 ? "odd" : "even"}, before));
    }
    dag.run();
}
int tasks_of(int graph_tasks) {
    int all = 0;
    for (int i = 0; i < graph_tasks; ++i) all += 1 + i % 4;
    return all;
}

TEST_P(unequal_resized, every_task_runs_while_it_changes) {
    runtime rt(options());
    std::minstd_rand random(static_cast<unsigned>(test::seed));
    std::vector<int> active; // by task, so that tasks draw nothing
    for (int i = 0; i < 60; ++i) active.push_back(1 + static_cast<int>(random() % all_workers));
    for (int round = 0; round < 4; ++round) {
        std::atomic<int> ran{0};
        rt.run([&] {
            run_graph(60, ran, [&](int i) {
                if (i % 5 == 2) rt.set_active_workers(active[static_cast<std::size_t>((i + round) % 60)]);
            });
        });
        EXPECT_EQ(ran, tasks_of(60)) << "seed " << test::seed;
    }
}

TEST_P(unequal_resized, only_the_active_ones_begin_tasks) {
    runtime rt(options());
    for (const int count : {2, 4, 1, 3}) {
        rt.set_active_workers(count);
        ASSERT_EQ(rt.active_workers(), count);
        std::atomic<int> ran{0}, highest{-1};
        // A worker that had work may look once more before it sees the new number: the first run is not looked at.
        for (const bool looks : {false, true}) {
            ran = 0;
            rt.run([&] {
                run_graph(40, ran, [&](int) {
                    const int here = impl::hot_self()->local;
                    int before = highest;
                    while (looks && before < here && !highest.compare_exchange_weak(before, here)) {}
                });
            });
            EXPECT_EQ(ran, tasks_of(40));
        }
        EXPECT_LT(highest, count);
        EXPECT_GE(highest, 0);
    }
}

} // namespace
} // namespace weft
