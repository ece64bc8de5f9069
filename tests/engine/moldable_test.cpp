// ctest: labels=slow
// ctest: tsan_cases=-moldable.plain_tasks*:moldable.conformance
//
// weft
//
// Moldable tasks that the policy molds: each share runs once, for its own worker, and the task ends with the last one.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "engine/recorded_runs.hpp"
#include "engine/support.hpp"
#include "policy/replay.hpp"

namespace weft {
namespace {

const std::string hikey = WEFT_SOURCE_DIR "/machines/hikey960.toml";

runtime_options with(const std::string& policy, const std::string& engine, std::uint64_t seed = 1) {
    runtime_options o;
    o.policy = policy;
    o.engine = engine;
    o.workers = 8;
    o.seed = seed;
    if (engine == "model") o.machine = hikey;
    return o;
}

const std::vector<std::string> molding = {"xitao",
                                          "xitao:place=weight",
                                          "xitao:place=random,mold=off",
                                          "xitao:place=critical,mold=off",
                                          "xitao:mold=load",
                                          "xitao:mold=history,literal=on",
                                          "xitao:cross=on",
                                          "xitao:steal=off",
                                          "hybrid",
                                          "auto:of=hybrid+xitao:mold=load,share=50,memory=off",
                                          "chaos:of=xitao"};

template <class F>
void for_each(F&& f) {
    for (const std::string engine : {"threads", "model"})
        for (const auto& policy : molding) {
            SCOPED_TRACE(engine + " " + policy);
            f(policy, engine);
        }
}

struct node {
    std::atomic<int> begun{0}, ended{0}, width{0};
    std::atomic<std::uint64_t> ranks{0};
};

TEST(moldable, each_share_runs_once_and_successors_wait_for_all) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::vector<node> nodes(60);
        std::atomic<int> wrong{0};
        graph dag;
        std::vector<graph_task> tasks;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            std::vector<graph_task> before;
            if (i > 0) before.push_back(tasks[(i - 1) / 2]);
            if (i > 3) before.push_back(tasks[i - 3]);
            tasks.push_back(dag.add(moldable([&, i](int rank, int width) {
                                        node& n = nodes[i];
                                        for (const std::size_t p :
                                             {i > 0 ? (i - 1) / 2 : i, i > 3 ? i - 3 : i})
                                            if (p != i && nodes[p].ended != nodes[p].width) ++wrong;
                                        n.width = width;
                                        ++n.begun;
                                        if (n.ranks.fetch_or(std::uint64_t{1} << rank) >> rank & 1) ++wrong;
                                        if (rank < 0 || rank >= width) ++wrong;
                                        cost(10'000);
                                        ++n.ended;
                                    }),
                                    before, width(1 << i % 4), name(i % 2 ? "odd" : "even")));
        }
        for (int run = 0; run < 3; ++run) {
            for (auto& n : nodes) n.begun = 0, n.ended = 0, n.ranks = 0;
            rt.run([&] { dag.run(); });
            for (auto& n : nodes) {
                ASSERT_EQ(n.begun, n.width);
                ASSERT_EQ(n.ranks, (std::uint64_t{1} << n.width) - 1);
            }
        }
        EXPECT_EQ(wrong, 0);
    });
}

TEST(moldable, shares_may_wait_for_each_other) { // V1 of assembly_queues.hpp
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        struct meeting {
            std::atomic<int> come{0};
        };
        std::vector<meeting> met(100);
        graph dag;
        for (std::size_t i = 0; i < met.size(); ++i)
            dag.add(moldable([&, i](int, int wide) {
                        cost(1000 * (i % 7));
                        ++met[i].come;
                        while (met[i].come < wide) this_task::sleep_for(std::chrono::microseconds(1));
                    }),
                    width(4));
        rt.run([&] { dag.run(); });
        for (auto& m : met) EXPECT_GE(m.come, 1);
    });
}

TEST(moldable, forks_below_shares) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::atomic<int> leaves{0}, shares{0};
        graph dag;
        for (int i = 0; i < 20; ++i)
            dag.add(moldable([&](int, int) {
                        ++shares;
                        parallel_for(0, 50, [&](int) { cost(100), ++leaves; }, {.grain = 1});
                        task_group g;
                        for (int k = 0; k < 5; ++k) g.run([&] { ++leaves; });
                        g.wait();
                    }),
                    width(2));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(leaves, shares * 55);
    });
}

TEST(moldable, the_first_exception_is_the_tasks_and_successors_do_not_run) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::atomic<int> after{0}, beside{0};
        graph dag;
        const auto bad = dag.add(moldable([](int rank, int wide) {
                                     if (rank == wide - 1) throw std::runtime_error("bad");
                                 }),
                                 width(4));
        dag.add(moldable([&](int, int) { ++after; }), weft::after(bad), width(2));
        dag.add(moldable([&](int rank, int) { beside += rank == 0; }), width(2));
        for (int run = 1; run <= 2; ++run) {
            EXPECT_THROW(rt.run([&] { dag.run(); }), std::runtime_error);
            EXPECT_EQ(after, 0);
            EXPECT_EQ(beside, run);
        }
    });
}

TEST(moldable, a_fixed_width_and_other_needs_get_a_team) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::atomic<int> wrong{0}, shares{0};
        int x = 0;
        graph dag;
        for (int i = 0; i < 10; ++i) {
            dag.add(moldable([&](int, int wide) { wrong += wide != 3, ++shares; }), fixed_width(3));
            dag.add(moldable([&](int, int) { ++shares; }), width(2), commutative(x));
        }
        rt.run([&] { dag.run(); });
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(shares, 10 * 3 + 10 * 2);
    });
}

TEST(moldable, graphs_in_teams_and_in_tasks) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::atomic<int> firsts{0};
        const auto inner = [&] {
            graph dag;
            for (int i = 0; i < 10; ++i)
                dag.add(moldable([&](int rank, int) { firsts += rank == 0; }), width(4));
            dag.run();
        };
        graph outer;
        outer.add(inner, cores(3));
        outer.add(moldable([&](int, int) { inner(); }), fixed_width(2));
        outer.add(inner);
        outer.add(moldable([&](int rank, int) {
                      if (rank == 0) inner();
                  }),
                  width(4));
        rt.run([&] { outer.run(); });
        EXPECT_EQ(firsts, 50);
    });
}

TEST(moldable, plain_tasks_are_stolen_as_under_steal) {
    const auto seconds = [](const std::string& policy) {
        double sum = 0;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            runtime_options o = with(policy, "model", seed);
            o.machine = "numa:2 core:4 pu:1";
            runtime rt(o);
            rt.run([&] {
                task_group g;
                for (int i = 0; i < 200; ++i)
                    g.run([] {
                        parallel_for(0, 64, [](int k) { cost(500 + 10 * static_cast<std::uint64_t>(k)); },
                                     {.grain = 1});
                    });
                g.wait();
            });
            sum += rt.stats().seconds;
        }
        return sum;
    };
    const double base = seconds("steal");
    for (const std::string policy : {"xitao", "xitao:place=random,mold=off", "cats", "heft", "dheft"})
        EXPECT_NEAR(seconds(policy) / base, 1, 0.02) << policy;
}

/// A fresh object decides the same from the same events: molding depends on nothing else.
TEST(moldable, conformance) {
    const machine on = load_machine(hikey);
    for (const std::string spec :
         {"xitao", "xitao:place=weight", "xitao:place=critical,mold=off", "xitao:mold=history,literal=on"}) {
        test::recording list;
        test::modelled m(std::make_unique<test::recorder>(make_policy(spec), list), on, 1, 5'000);
        m.run([] {
            graph dag;
            std::vector<graph_task> all;
            for (int i = 0; i < 60; ++i) {
                std::vector<graph_task> before;
                if (i > 4)
                    before = {all[static_cast<std::size_t>(i / 2)], all[static_cast<std::size_t>(i - 3)]};
                all.push_back(dag.add(moldable([i](int, int wide) {
                                          cost(10'000 * (1 + static_cast<std::uint64_t>(i % 3)) /
                                               static_cast<std::uint64_t>(wide));
                                      }),
                                      before, width(1 << i % 3), name(i % 2 ? "odd" : "even")));
            }
            dag.run();
        });
        m.engine.wait_until_quiescent();
        int molded = 0;
        for (const auto& e : list) molded += e.what == test::hook::assemble;
        EXPECT_EQ(molded, 60) << spec;
        const auto p = make_policy(spec);
        const auto difference = test::replay(list, *p, on);
        EXPECT_FALSE(difference) << spec << ": " << difference.value_or("");
    }
}

TEST(moldable, wide_only_where_the_cores_are) {
    runtime rt(with("xitao:place=random,mold=off", "model"));
    std::atomic<int> wrong{0};
    std::vector<std::atomic<unsigned>> workers(40);
    graph dag;
    for (std::size_t i = 0; i < workers.size(); ++i)
        dag.add(moldable([&, i](int rank, int wide) {
                    workers[i] |= 1U << static_cast<unsigned>(this_task::worker());
                    wrong += wide != 4 || this_task::worker() % 4 != rank; // no share is stolen
                    cost(1000);
                }),
                width(8));
    rt.run([&] { dag.run(); });
    EXPECT_EQ(wrong, 0);
    for (auto& w : workers) EXPECT_TRUE(w == 0x0fU || w == 0xf0U);
}

TEST(moldable, critical_tasks_are_on_big_cores) {
    for (const std::string policy : {"xitao:place=critical,mold=off,steal=off", "cats:steal=off"}) {
        runtime rt(with(policy, "model"));
        std::atomic<int> on_big{0};
        graph dag;
        graph_task last;
        for (int i = 0; i < 30; ++i) { // a chain, and leaves beside it
            last = dag.add([&] { on_big += this_task::worker() < 4, cost(10'000); }, after(last));
            dag.add([] { cost(10'000); }, after(last));
        }
        rt.run([&] { dag.run(); });
        EXPECT_GE(on_big, 29) << policy; // the first task is ready before any runs
    }
}

TEST(moldable, children_of_a_group) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, engine));
        std::vector<node> nodes(30);
        rt.run([&] {
            task_group g;
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                auto body = moldable([&, i](int rank, int width) {
                    node& n = nodes[i];
                    n.width = width;
                    n.ranks |= std::uint64_t{1} << rank;
                    cost(10'000);
                    ++n.ended;
                });
                if (i % 3 == 0) {
                    g.run(std::move(body), width(4), {.name = "wide"});
                } else if (i % 3 == 1) {
                    g.run(std::move(body), {.name = "any"});
                } else {
                    g.run(body);
                }
            }
            g.wait();
        });
        for (auto& n : nodes) {
            ASSERT_GE(n.width, 1);
            ASSERT_EQ(n.ended, n.width);
            ASSERT_EQ(n.ranks, (std::uint64_t{1} << n.width) - 1);
        }
        if (policy.starts_with("xitao:place=random")) { // the width that the program has said
            for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i].width, i % 3 == 0 ? 4 : 1);
        }
    });
}

TEST(moldable, a_child_of_a_group_has_a_team_under_other_policies) {
    for (const std::string engine : {"threads", "model"}) {
        runtime rt(with("steal", engine));
        std::atomic<int> shares{0}, alone{0};
        rt.run([&] {
            task_group g;
            g.run(moldable([&](int, int width) { shares += width == 4 ? 1 : 100; }), width(4));
            g.run(moldable([&](int rank, int width) { alone += rank == 0 && width == 1 ? 1 : 100; }));
            g.wait();
            EXPECT_EQ(shares, 4);
            EXPECT_EQ(alone, 1);
            g.run(moldable([&](int rank, int) {
                      if (rank == 1) throw std::runtime_error("a share");
                  }),
                  width(2));
            EXPECT_THROW(g.wait(), std::runtime_error);
            g.run(moldable([](int, int) {}), fixed_width(9));
            EXPECT_THROW(g.wait(), error);
        });
    }
}

TEST(moldable, what_was_measured_is_kept_in_a_file) {
    const std::string file =
        (std::filesystem::temp_directory_path() / ("weft_moldable_table_" + std::to_string(getpid())))
            .string();
    const auto places = [&] { // that a chain of tasks tries
        std::set<std::pair<int, int>> tried;
        runtime rt(with("xitao:mold=history,table=" + file, "model"));
        graph dag;
        graph_task last;
        for (int i = 0; i < 60; ++i)
            last = dag.add(moldable([&](int rank, int width) {
                               if (rank == 0) tried.insert({this_task::worker(), width});
                               cost(10'000);
                           }),
                           after(last), name("link"));
        rt.run([&] { dag.run(); });
        return tried.size();
    };
    const auto first = places();
    ASSERT_TRUE(std::filesystem::exists(file));
    EXPECT_EQ(first, 14U); // each width on each leader, once: 2 x (4 + 2 + 1)
    EXPECT_LT(places(), 5U);
    std::filesystem::remove(file);
}

TEST(moldable, unequal_cores_in_both_engines) {
    for (const std::string engine : {"threads", "model"})
        for (const std::string policy : {"cats", "cats:steal=off", "heft", "heft:cost=history", "dheft"}) {
            SCOPED_TRACE(engine + " " + policy);
            runtime rt(with(policy, engine));
            std::atomic<int> done{0};
            graph dag;
            std::vector<graph_task> all;
            for (int i = 0; i < 200; ++i) {
                std::vector<graph_task> before;
                if (i > 5)
                    before = {all[static_cast<std::size_t>(i * 7 % i)], all[static_cast<std::size_t>(i - 5)]};
                all.push_back(dag.add(
                    [&, i] {
                        parallel_for(0, 4,
                                     [&](int) { cost(100 * static_cast<std::uint64_t>(i % 9)), ++done; },
                                     {.grain = 1});
                    },
                    before, hints{.work = 1.0 + i % 9, .name = i % 2 ? "a" : "b"}));
            }
            for (int run = 1; run <= 3; ++run) {
                rt.run([&] { dag.run(); });
                ASSERT_EQ(done, run * 800);
            }
        }
}

TEST(moldable, heft_uses_fast_cores_for_long_work) {
    const auto seconds = [](const std::string& policy) {
        runtime rt(with(policy, "model"));
        graph dag;
        for (int i = 0; i < 40; ++i)
            dag.add([i] { cost(i % 4 == 0 ? 400'000 : 100'000); },
                    hints{.work = i % 4 == 0 ? 4.0 : 1.0, .name = i % 4 ? "s" : "l"});
        rt.run([&] { dag.run(); });
        return rt.stats().seconds;
    };
    EXPECT_LT(seconds("heft"), 0.95 * seconds("xitao:place=random,mold=off"));
}

} // namespace
} // namespace weft
