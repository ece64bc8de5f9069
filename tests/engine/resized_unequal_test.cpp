// ctest: labels=not_tsan
// The number of active workers changes under policies for unequal cores, on emulated speeds and in the model, also so that only
// fast or only slow cores are left: every task runs, once, and none on a worker that was inactive when its run began.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <thread>
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
            o.machine = "pack:1 l3:1 core:4 pu:1";
            o.costs = "declared";
        }
        return o;
    }
};

std::vector<unequal_setup> unequal_setups() {
    std::vector<unequal_setup> all;
    for (const char* engine : {"threads", "model"}) {
        for (const char* policy :
             {"heft", "heft:cost=history", "dheft", "cats", "cats:steal=off", "aats", "aats:mode=pipeline",
              "aats:ts=on", "speed", "ljfcf", "hybrid", "xitao", "xitao:steal=off",
              "xitao:place=weight,steal=off", "xitao:place=critical,mold=off,steal=off",
              "auto:of=hybrid,share=50,memory=off"})
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

// ---- moldable tasks (M4 of engine/team/README.md)

class resized_molding : public unequal_resized {
protected:
    /// Waits until `done()`, so that the worker runs nothing else meanwhile where time is real.
    template <class Done>
    static void await_on_worker(Done done) {
        while (!done()) {
            if (GetParam().engine == "model")
                this_task::sleep_for(std::chrono::microseconds(1));
            else
                std::this_thread::yield();
        }
    }
};

std::vector<unequal_setup> molding_setups() {
    std::vector<unequal_setup> all;
    for (const char* engine : {"threads", "model"})
        for (const char* policy :
             {"hybrid", "xitao", "xitao:place=random,mold=off,cross=on", "xitao:mold=load"})
            for (const char* speeds : {"1,1,1,1", "1,1,0.5,0.5"}) all.push_back({engine, policy, speeds});
    return all;
}

INSTANTIATE_TEST_SUITE_P(all, resized_molding, testing::ValuesIn(molding_setups()), name_of_setup);

/// The shares of a task wait for each other on their workers, so each must run on a worker of its own, whatever the number.
TEST_P(resized_molding, shares_meet_while_it_changes) {
    runtime rt(options());
    std::minstd_rand random(static_cast<unsigned>(test::seed));
    std::vector<int> active;
    for (int i = 0; i < 100; ++i) active.push_back(1 + static_cast<int>(random() % all_workers));
    struct met {
        std::atomic<int> come{0}, width{0};
        std::atomic<unsigned> ranks{0};
    };
    for (int round = 0; round < 3; ++round) {
        std::vector<met> all(active.size());
        graph dag;
        std::vector<graph_task> of;
        for (std::size_t i = 0; i < all.size(); ++i) {
            std::vector<graph_task> before;
            if (i > 5) before.push_back(of[i - 6]);
            of.push_back(dag.add(moldable([&, i](int rank, int width) {
                                     if (rank == 0 && i % 2 == 0) rt.set_active_workers(active[i]);
                                     cost(1000 * (1 + i % 7));
                                     met& m = all[i];
                                     m.width = width;
                                     m.ranks |= 1U << static_cast<unsigned>(rank);
                                     ++m.come;
                                     await_on_worker([&] { return m.come == width; });
                                 }),
                                 before, width(1 << i % 3), name(i % 2 ? "odd" : "even")));
        }
        rt.run([&] { dag.run(); });
        for (const met& m : all) {
            ASSERT_EQ(m.come, m.width) << "seed " << test::seed;
            ASSERT_EQ(m.ranks, (1U << static_cast<unsigned>(m.width)) - 1);
        }
    }
}

class resized_wide_places : public resized_molding {};

INSTANTIATE_TEST_SUITE_P(
    all, resized_wide_places,
    testing::Values(unequal_setup{"threads", "xitao:place=random,mold=off,cross=on", "1,1,1,1"},
                    unequal_setup{"model", "xitao:place=random,mold=off,cross=on", "1,1,0.5,0.5"}),
    name_of_setup);

/// All other workers are busy when their shares are kept for them, and inactive when they come to them.
TEST_P(resized_wide_places, an_inactive_worker_runs_the_shares_that_were_kept_for_it) {
    runtime rt(options());
    for (int round = 0; round < 3; ++round) {
        rt.set_active_workers(all_workers);
        std::atomic<bool> is_molded{false}, ends{false};
        std::atomic<int> busy{0}, come{0};
        std::atomic<unsigned> on{0};
        graph dag;
        for (int i = 0; i < all_workers; ++i)
            dag.add([&] {
                if (++busy == all_workers) return; // its worker molds
                while (!ends) {
                    cost(1000);
                    if (GetParam().engine != "model") std::this_thread::yield();
                }
            });
        dag.add(moldable([&](int rank, int width) {
                    on |= 1U << static_cast<unsigned>(impl::hot_self()->local);
                    if (!is_molded.exchange(true)) {
                        rt.set_active_workers(1);
                        ends = true;
                    }
                    ++come;
                    EXPECT_EQ(width, all_workers);
                    EXPECT_EQ(rank, impl::hot_self()->local);
                    await_on_worker([&] { return come == width; });
                }),
                width(all_workers));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(come, all_workers);
        EXPECT_EQ(on, (1U << all_workers) - 1);
    }
}

/// What is molded while fewer are active lies on these.
TEST_P(resized_molding, places_lie_on_active_workers) {
    runtime rt(options());
    for (const int count : {2, 3, 1, 4}) {
        rt.set_active_workers(count);
        std::atomic<int> highest{-1}, widest{0};
        for (const bool looks : {false, true}) { // as in only_the_active_ones_begin_tasks
            graph dag;
            for (int i = 0; i < 40; ++i)
                dag.add(moldable([&](int, int width) {
                            const int here = impl::hot_self()->local;
                            for (int before = highest;
                                 looks && before < here && !highest.compare_exchange_weak(before, here);) {}
                            for (int before = widest;
                                 looks && before < width && !widest.compare_exchange_weak(before, width);) {}
                            cost(10'000);
                        }),
                        width(4), name("all"));
            rt.run([&] { dag.run(); });
        }
        EXPECT_LT(highest, count);
        EXPECT_LE(widest, count);
        if (GetParam().policy == "xitao:place=random,mold=off,cross=on" && GetParam().engine == "model") {
            EXPECT_EQ(widest, count == 3 ? 2 : count);
        }
    }
}

} // namespace
} // namespace weft
