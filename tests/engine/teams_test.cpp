// ctest: labels=slow
//
// weft
//
// Teams: tasks of graphs that have several workers for themselves and for what they start, and moldable
// tasks, which are run once by each of their workers.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/bare_engine.hpp"
#include "engine/graphs.hpp"
#include "engine/resizer.hpp"
#include "engine/team_programs.hpp"

namespace weft {
namespace {

using namespace test::graphs;
using namespace test::teams;

// ---- teams

// T4 and T6; R9 of gate/README.md.
TEST(teams, members_run_only_what_the_task_has_started_and_no_other_worker_does) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 6, engine));
        watched_workers all(6);
        watched_team outside(all, 6);
        std::deque<watched_team> watched;
        std::atomic<int> plain{0}, leaves{0};
        graph dag;
        for (int i = 0; i < 12; ++i) {
            const int size = 1 + i % 4;
            auto& t = watched.emplace_back(all, size, &outside);
            dag.add(
                [&] {
                    t.begin();
                    t.visit();
                    tree(6, [&] {
                        t.visit();
                        ++leaves;
                    });
                    t.end();
                },
                cores(size));
            for (int k = 0; k < 5; ++k)
                dag.add([&] {
                    tree(3, [&] {
                        outside.visit();
                        ++plain;
                    });
                });
        }
        for (int repeat = 1; repeat <= 3; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(leaves, 12 * 64 * repeat);
            ASSERT_EQ(plain, 12 * 5 * 8 * repeat);
        }
        EXPECT_EQ(all.wrong, 0);
    });
}

// (T1).
TEST(teams, of_all_workers_use_all_of_them) {
    for (const std::string policy : {"steal", "near", "share", "mts", "pdf", "cpdf"}) {
        runtime rt(with(policy, 8, "model"));
        std::mutex lock;
        std::set<int> seen;
        graph dag;
        dag.add(
            [&] {
                tree(8, [&] {
                    const std::lock_guard guard(lock);
                    seen.insert(this_task::worker());
                });
            },
            cores(8));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(seen.size(), 8u) << policy;
    }
}

// T2.
TEST(teams, big_requests_do_not_wait_for_each_other) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<int> inside{0}, most{0}, done{0};
        graph dag;
        for (int i = 0; i < 40; ++i) {
            const int size = 1 + i % 4;
            dag.add(
                [&, size] {
                    const int now = inside += size;
                    int seen = most;
                    while (now > seen && !most.compare_exchange_weak(seen, now)) {}
                    cost(2000);
                    this_task::yield();
                    inside -= size;
                    ++done;
                },
                cores(size));
        }
        for (int repeat = 1; repeat <= 5; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(done, 40 * repeat);
        }
        EXPECT_LE(most, 4); // no worker is in two teams
    });
}

TEST(teams, of_a_domain_stay_in_it) {
    for (const auto& engine : engines)
        for (const std::string& policy : test::policies_of_suite) {
            runtime rt(with(policy, 16, engine));
            std::atomic<int> wrong{0}, done{0};
            graph dag;
            for (int i = 0; i < 40; ++i) {
                if (i % 3 == 0) {
                    dag.add([&] { tree(4, [] {}), ++done; }, cores(1 + i % 7));
                    continue;
                }
                const within where = i % 3 == 1 ? within::package : within::cache;
                dag.add(
                    [&] {
                        std::atomic<int> packages{0};
                        tree(5, [&] { packages |= 1 << this_task::worker() / 4; });
                        const int p = packages;
                        wrong += (p & (p - 1)) != 0;
                        ++done;
                    },
                    cores(1 + i % 4, where));
            }
            rt.run([&] { dag.run(); });
            EXPECT_EQ(done, 40) << policy << engine;
            EXPECT_EQ(wrong, 0) << policy << engine;
        }
}

// Each place of two memory nodes, each node of two caches, each cache of two cores.
TEST(teams, of_every_kind_of_place_stay_in_it) {
    const std::pair<within, int> kinds[] = {
        {within::cache, 2}, {within::memory_node, 4}, {within::package, 8}, {within::machine, 16}};
    for (const auto& engine : engines)
        for (const std::string& policy : test::policies_of_suite) {
            SCOPED_TRACE(policy + " " + engine);
            runtime_options o = with(policy, 16, engine);
            o.machine = WEFT_SOURCE_DIR "/tests/engine/places_in_places.toml";
            runtime rt(o);
            std::atomic<int> done{0}, wrong{0};
            graph dag;
            int expected = 0;
            for (int i = 0; i < 32; ++i) {
                const auto [where, size] = kinds[i % 4];
                const auto in_one_place = [&wrong, size](const std::set<int>& workers) {
                    wrong += *workers.begin() / size != *workers.rbegin() / size;
                };
                const int some = 1 + i * 5 % size;
                dag.add(
                    [&, in_one_place] {
                        std::mutex lock;
                        std::set<int> seen;
                        tree(5, [&] {
                            const std::lock_guard guard(lock);
                            seen.insert(this_task::worker());
                        });
                        in_one_place(seen);
                        ++done;
                    },
                    cores(some, where));
                ++expected;
                // No share waits, so each has a worker for itself.
                struct roll {
                    std::mutex lock{};
                    std::set<int> present{};
                };
                dag.add(moldable([&, in_one_place, size = size, all = std::make_shared<roll>()](int, int) {
                            const std::lock_guard guard(all->lock);
                            all->present.insert(this_task::worker());
                            ++done;
                            if (static_cast<int>(all->present.size()) == size) in_one_place(all->present);
                        }),
                        fixed_width(size, where));
                expected += size;
            }
            rt.run([&] {
                dag.run();
                for (const auto& [where, size] : kinds) {
                    const std::string told = message_of([&] { dag.add([] {}, cores(size + 1, where)); });
                    EXPECT_NE(told.find("at most " + std::to_string(size)), std::string::npos) << told;
                }
            });
            EXPECT_EQ(done, expected);
            EXPECT_EQ(wrong, 0);
        }
}

TEST(teams, inside_of_teams) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 6, engine));
        watched_workers all(6);
        std::atomic<int> done{0};
        graph dag;
        for (int i = 0; i < 6; ++i)
            dag.add(
                [&] {
                    watched_team around(all, 3);
                    around.begin();
                    around.visit();
                    graph inner;
                    for (int k = 0; k < 6; ++k)
                        inner.add(
                            [&, k] {
                                watched_team t(all, 1 + k % 3, &around);
                                t.begin();
                                t.visit();
                                tree(4, [&] { t.visit(); });
                                if (k == 0) {
                                    graph innermost;
                                    innermost.add([&] { ++done; }, cores(1));
                                    EXPECT_NE(
                                        message_of([&] { innermost.add([] {}, cores(2)); }).find("at most 1"),
                                        std::string::npos);
                                    innermost.run();
                                }
                                t.end();
                                ++done;
                            },
                            cores(1 + k % 3));
                    for (int k = 0; k < 6; ++k)
                        inner.add([&] {
                            around.visit();
                            ++done;
                        });
                    EXPECT_NE(message_of([&] { inner.add([] {}, cores(4)); }).find("at most 3"),
                              std::string::npos);
                    inner.run();
                    around.end();
                },
                cores(3));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(done, 6 * 13);
        EXPECT_EQ(all.wrong, 0);
    });
}

TEST(teams, that_are_relaxed_take_what_there_is) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<int> done{0}, most{0};
        graph dag;
        for (int i = 0; i < 30; ++i)
            dag.add(
                [&, i] {
                    if (i % 4 == 0) cost(20'000);
                    tree(3, [] {});
                    ++done;
                },
                cores(4).relaxed());
        dag.add(moldable([&](int, int w) {
                    int seen = most;
                    while (w > seen && !most.compare_exchange_weak(seen, w)) {}
                    ++done;
                }),
                width(4).relaxed());
        rt.run([&] { dag.run(); });
        EXPECT_GE(done, 31);
        EXPECT_LE(done, 34);
        EXPECT_GE(most, 1);
        EXPECT_LE(most, 4);
    });
}

// T5.
TEST(teams, keep_what_their_tasks_start_until_it_has_ended) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        for (int round = 0; round < 5; ++round) {
            watched_workers all(4);
            watched_team t(all, 2);
            std::atomic<int> done{0};
            rt.run([&] {
                future<void> left_behind;
                graph resumed;
                for (int i = 0; i < 10; ++i)
                    resumed.add([&] {
                        t.visit();
                        cost(3000);
                        ++done;
                    });
                task_group outside;
                graph dag;
                auto first = dag.add(
                    [&] {
                        t.visit();
                        left_behind = async([&] {
                            for (int i = 0; i < 5; ++i) {
                                t.visit();
                                this_task::yield();
                            }
                            tree(3, [&] { t.visit(); });
                            ++done;
                        });
                        outside.run([&] {
                            t.visit();
                            this_task::yield();
                            t.visit();
                            ++done;
                        });
                        resumed.start();
                    },
                    cores(2));
                // What waits for the task does not wait for its team; it has other workers.
                dag.add([&] { ++done; }, after(first));
                dag.run();
                left_behind.get();
                outside.wait();
                resumed.wait();
            });
            EXPECT_EQ(done, 13);
            EXPECT_EQ(all.wrong, 0);
        }
    });
}

TEST(teams, may_do_whatever_tasks_may) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<long> sum{0};
        graph dag;
        for (int i = 0; i < 6; ++i)
            dag.add(
                [&] {
                    task_group g;
                    std::atomic<long> mine{0};
                    for (int k = 0; k < 20; ++k)
                        g.run([&, k] {
                            if (k % 5 == 0) this_task::yield();
                            mine += k;
                        });
                    auto f = async([&] { return 10L; });
                    mutex m;
                    parallel_for(0, 100, [&](int) {
                        const std::lock_guard guard(m);
                        ++mine;
                    });
                    this_task::sleep_for(std::chrono::microseconds(50));
                    g.wait();
                    sum += mine + f.get();
                },
                cores(1 + i % 3));
        for (int repeat = 1; repeat <= 3; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(sum, 6 * (190 + 100 + 10) * repeat);
        }
    });
}

TEST(teams, end_when_their_task_throws) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<int> done{0};
        graph dag;
        int x = 0;
        for (int i = 0; i < 10; ++i)
            dag.add(
                [&, i] {
                    ++done;
                    if (i % 2) throw std::runtime_error("no");
                },
                cores(3));
        dag.add([] { throw std::runtime_error("no x"); }, write(x), cores(4));
        dag.add([] { ADD_FAILURE(); }, read(x), cores(2));
        dag.add(moldable([](int, int) { ADD_FAILURE(); }), width(2), read(x));
        for (int repeat = 1; repeat <= 3; ++repeat) {
            EXPECT_THROW(rt.run([&] { dag.run(); }), std::runtime_error);
            ASSERT_EQ(done, 10 * repeat);
        }
    });
}

TEST(teams, that_cannot_be_had_are_refused_before_anything_runs) {
    for (const auto& engine : engines) {
        runtime rt(with("steal", 8, engine));
        bool ran = false;
        graph outside;
        outside.add([&] { ran = true; });
        outside.add([] {}, cores(9), name("big"));
        const std::string told = message_of([&] { rt.run([&] { outside.run(); }); });
        for (const char* part : {"task 1 'big'", "9", "at most 8"})
            EXPECT_NE(told.find(part), std::string::npos) << told;
        EXPECT_FALSE(ran);
        rt.run([&] {
            graph dag;
            const auto refused = [&](const char* ready_reason, auto body, auto... clauses) {
                const std::string said = message_of([&] { dag.add(body, clauses...); });
                EXPECT_NE(said.find(ready_reason), std::string::npos) << said;
            };
            const auto shares = moldable([](int, int) {});
            refused("at most 8", [] {}, cores(9));
            refused("1 or more", [] {}, cores(0));
            refused("1 or more", [] {}, cores(-1));
            refused("at most 4", [] {}, cores(5, within::package));
            refused("at most 4", [] {}, cores(5, within::cache).relaxed());
            refused("twice", [] {}, cores(2), cores(2));
            refused("1 or more", shares, width(0));
            refused("at most 8", shares, fixed_width(9));
            refused("twice", shares, width(2), cores(2));
            std::atomic<int> widest{0};
            dag.add(moldable([&](int, int w) { widest = w; }), width(100));
            dag.run();
            EXPECT_EQ(widest, 8);
        });
    }
    test::bare_engine one("steal", test::options_of(2));
    one.run([] {
        graph dag;
        EXPECT_NE(message_of([&] { dag.add([] {}, cores(2)); }).find("further instance"), std::string::npos);
    });
}

// R8 of gate/README.md.
TEST(teams, that_are_big_are_not_starved_by_small_ones) {
    for (const auto& engine : engines)
        for (const bool nested : {false, true}) {
            SCOPED_TRACE(engine + (nested ? " nested" : ""));
            runtime rt(with("steal", nested ? 5 : 4, engine));
            const auto program = [] {
                graph dag;
                std::atomic<int> small{0}, seen{-1}, chains{4};
                // Four chains of small teams, which continue until the big one has run.
                std::function<void()> next = [&] {
                    ++small;
                    cost(1000);
                    if (seen >= 0 || small > 30'000)
                        --chains;
                    else
                        dag.add([&] { next(); }, cores(1));
                };
                dag.start();
                for (int i = 0; i < 4; ++i) dag.add([&] { next(); }, cores(1));
                dag.add([&] { seen = small.load(); }, cores(4));
                dag.wait();
                EXPECT_EQ(chains, 0);
                EXPECT_LT(small, 30'000);
            };
            rt.run([&] {
                if (!nested) return program();
                graph around;
                around.add(program, cores(4));
                around.run();
            });
        }
}

TEST(teams, share_the_gate_with_resources) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime_options o = with(policy, 8, engine);
        o.resources = file_with("[[resource]]\nname = \"file\"\namount = 2\n"
                                "[[resource]]\nname = \"bandwidth\"\nper = \"package\"\namount = 2\n"
                                "suspended = \"release\"\n"
                                "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [1]\namount = 1\n"
                                "suspended = \"release\"\n");
        runtime rt(o);
        std::atomic<int> done{0}, files{0}, wrong{0};
        graph dag;
        const auto work = [&] {
            this_task::yield();
            tree(3, [] {});
            this_task::yield();
            ++done;
        };
        for (int i = 0; i < 15; ++i) {
            dag.add(
                [&] {
                    wrong += ++files > 2;
                    tree(3, [] {});
                    --files;
                    ++done;
                },
                cores(1 + i % 5), needs("file"));
            dag.add(work, cores(1 + i % 3), needs("bandwidth"));
            dag.add(work, needs("bandwidth"));
            dag.add(work, cores(1 + i % 4), needs("disk"));
            dag.add(work, needs("disk"));
        }
        for (int repeat = 1; repeat <= 2; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(done, 75 * repeat);
        }
        EXPECT_EQ(wrong, 0);
    });
}

// A team has its part of a package, and there is one port in each package.
// R10 of gate/README.md.
TEST(teams, need_what_is_where_their_members_are) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime_options o = with(policy, 16, engine);
        o.resources = file_with("reserve_after = 4\n"
                                "[[resource]]\nname = \"port\"\nper = \"package\"\namount = 1\n"
                                "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [1]\namount = 1\n");
        runtime rt(o);
        std::atomic<int> done{0}, refused{0}, on_disk{0};
        graph dag;
        for (int i = 0; i < 6; ++i)
            dag.add(
                [&] {
                    const int package = this_task::worker() / 4;
                    graph inner;
                    for (int k = 0; k < 20; ++k)
                        inner.add(
                            [&] {
                                cost(500);
                                ++done;
                            },
                            needs("port"));
                    const std::string told =
                        message_of([&] { inner.add([&] { ++on_disk; }, needs("disk")); });
                    if (package != 1) {
                        EXPECT_NE(told.find("none of its workers"), std::string::npos) << told;
                        ++refused;
                    }
                    inner.run();
                },
                cores(2, within::package));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(done, 6 * 20);
        EXPECT_EQ(on_disk + refused, 6);
    });
}

// What a task of a team waits for may be released by a task that is not in the team, and the other way
// round.
// R11 of gate/README.md.
TEST(teams, need_what_others_need) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime_options o = with(policy, 6, engine);
        o.resources = file_with("reserve_after = 1\n[[resource]]\nname = \"file\"\namount = 1\n");
        runtime rt(o);
        std::atomic<int> done{0}, inside{0}, wrong{0};
        const auto work = [&] {
            wrong += ++inside > 1;
            cost(500);
            --inside;
            ++done;
        };
        graph dag;
        for (int i = 0; i < 4; ++i)
            dag.add(
                [&] {
                    graph inner;
                    for (int k = 0; k < 30; ++k) {
                        inner.add(work, needs("file"), cores(1 + k % 2));
                        inner.add(work, needs("file"));
                    }
                    inner.run();
                },
                cores(2));
        for (int i = 0; i < 60; ++i) dag.add(work, needs("file"));
        for (int repeat = 1; repeat <= 2; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(done, (4 * 60 + 60) * repeat);
        }
        EXPECT_EQ(wrong, 0);
    });
}

// A plain task has reserved the file. When it could have it, all workers have been called to a team whose
// tasks need the file as well: they get it until a worker is free to run the plain task.
TEST(teams, do_not_wait_for_a_task_that_waits_for_their_end) {
    if (test::thread_sanitized) GTEST_SKIP() << "virtual time";
    for (const auto& policy : policies) {
        SCOPED_TRACE(policy);
        runtime_options o = with(policy, 4, "model");
        o.resources = file_with("reserve_after = 1\n[[resource]]\nname = \"file\"\namount = 1\n");
        runtime rt(o);
        std::atomic<int> done{0};
        rt.run([&] {
            graph dag;
            latch held(1);
            dag.start();
            dag.add(
                [&] {
                    held.count_down();
                    cost(1'000'000);
                    ++done;
                },
                needs("file"));
            held.wait();
            dag.add([&] { ++done; }, needs("file"));
            this_task::sleep_for(std::chrono::microseconds(20));
            dag.add(
                [&] {
                    graph inner;
                    for (int i = 0; i < 10; ++i) inner.add([&] { ++done; }, needs("file"));
                    inner.run();
                },
                cores(4));
            dag.wait();
        });
        EXPECT_EQ(done, 12);
    }
}

TEST(teams, that_are_over_have_no_part_in_what_is_added_to_their_graphs) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 5, engine));
        for (int round = 0; round < 5; ++round)
            rt.run([&] {
                std::atomic<int> done{0};
                graph begun_inside, dag;
                auto first = dag.add([&] { begun_inside.start(); }, cores(2));
                // As many workers as there are: the first team is over.
                dag.add([&] { ++done; }, cores(5), after(first));
                dag.run();
                for (int i = 0; i < 10; ++i)
                    begun_inside.add([&] { tree(2, [&] { ++done; }); }, cores(1 + i % 2));
                begun_inside.add(moldable([&](int, int) { ++done; }), fixed_width(2));
                begun_inside.wait();
                EXPECT_EQ(done, 1 + 40 + 2);
            });
    });
}

// T3.
TEST(teams, call_inactive_workers) {
    for (const auto& policy : policies) {
        SCOPED_TRACE(policy);
        constexpr int workers = 4;
        runtime rt(with(policy, workers));
        engine::thread_engine& e = test::engine_of(rt);
        for (const int active : {1, 3, 2, 4, 1}) {
            e.set_active(active);
            const bool may_change =
                e.outermost.active().size() == active; // else the policy keeps all of them
            spin_barrier all;
            std::atomic<int> shares{0}, highest{0};
            graph dag;
            for (int i = 0; i < 5; ++i)
                dag.add(moldable([&](int, int width) {
                            all.wait(width);
                            ++shares;
                        }),
                        fixed_width(workers));
            rt.run([&] { dag.run(); });
            EXPECT_EQ(shares, 5 * workers);
            // They go back to where they stood.
            rt.run([&] {
                tree(7, [&] {
                    const int here = this_task::worker();
                    int before = highest;
                    while (before < here && !highest.compare_exchange_weak(before, here)) {}
                });
            });
            EXPECT_TRUE(highest < active || !may_change) << highest << " of " << active;
        }
    }
}

TEST(teams, stay_together_when_their_members_become_inactive) {
    for (const auto& policy : policies) {
        SCOPED_TRACE(policy);
        runtime rt(with(policy, 4));
        engine::thread_engine& e = test::engine_of(rt);
        for (int round = 0; round < 10; ++round) {
            e.set_active(4);
            spin_barrier all;
            std::atomic<int> shares{0}, done{0};
            graph dag;
            dag.add(moldable([&](int rank, int width) {
                        all.wait(width);
                        if (rank == 0) e.set_active(1);
                        all.wait(width);
                        ++shares;
                    }),
                    fixed_width(3));
            for (int i = 0; i < 6; ++i) dag.add([&] { tree(3, [&] { ++done; }); }, cores(1 + i % 4));
            rt.run([&] { dag.run(); });
            EXPECT_EQ(shares, 3);
            EXPECT_EQ(done, 6 * 8);
        }
    }
}

// Whatever they mix, they come to an end.
TEST(teams, in_random_programs) {
    WEFT_SEEDED;
    const int programs = test::rounds(test::thread_sanitized ? 20 : test::sanitized ? 40 : 150);
    const std::string patient = file_with(random_program::resources),
                      impatient = file_with(std::string("reserve_after = 2\n") + random_program::resources);
    for (int i = 0; i < programs; ++i) {
        const std::uint64_t seed = test::seed + static_cast<std::uint64_t>(i);
        const std::string& policy = policies[seed % policies.size()];
        const std::string& engine = engines[seed / policies.size() % engines.size()];
        const int workers = 1 + static_cast<int>(seed / (policies.size() * engines.size()) % 7);
        SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed) + ", " + policy + ", " + engine + ", " +
                     std::to_string(workers) + " workers");
        runtime_options o = with(policy, workers, engine);
        o.resources = seed % 2 ? patient : impatient;
        o.seed = seed;
        runtime rt(o);
        std::optional<test::resizer> changes; // meanwhile workers become inactive and active again
        if (engine == "threads" && seed % 3 == 0) changes.emplace(rt, workers, seed, 200);
        random_program p(
            seed, {.workers = workers, .of_a_package = std::min(workers, 4), .may_spin = engine != "model"});
        for (int repeat = 1; repeat <= 2; ++repeat) {
            rt.run([&] { p.run(); });
            ASSERT_EQ(p.ran, p.expected * repeat);
            ASSERT_EQ(p.wrong(), 0);
        }
    }
}

// ---- moldable tasks

TEST(moldable, shares_run_at_the_same_time_on_workers_of_their_own) {
    for (const auto& policy : policies)
        for (const int workers : {1, 2, 4}) {
            SCOPED_TRACE(policy + " " + std::to_string(workers));
            runtime rt(with(policy, workers));
            for (int w = 1; w <= workers; ++w) {
                spin_barrier all;
                std::mutex lock;
                std::set<int> who, ranks;
                std::atomic<int> shares{0}, after_it{0};
                graph dag;
                auto t = dag.add(moldable([&](int rank, int width) {
                                     for (int i = 0; i < test::rounds(5); ++i) all.wait(width);
                                     const std::lock_guard guard(lock);
                                     who.insert(this_task::worker());
                                     ranks.insert(rank);
                                     ++shares;
                                     EXPECT_EQ(width, w);
                                 }),
                                 fixed_width(w));
                dag.add([&] { after_it = shares.load(); }, after(t));
                for (int i = 0; i < 10; ++i) dag.add([] { tree(3, [] {}); });
                for (int repeat = 1; repeat <= test::rounds(3); ++repeat) {
                    who.clear();
                    ranks.clear();
                    shares = 0;
                    rt.run([&] { dag.run(); });
                    ASSERT_EQ(after_it, w);
                    ASSERT_EQ(static_cast<int>(who.size()), w);
                    ASSERT_EQ(static_cast<int>(ranks.size()), w);
                    ASSERT_EQ(*ranks.rbegin(), w - 1);
                }
            }
        }
}

TEST(moldable, several_tasks_with_barriers_beside_plain_ones) {
    for (const auto& policy : policies) {
        SCOPED_TRACE(policy);
        runtime rt(with(policy, 4));
        std::atomic<int> shares{0}, plain{0};
        std::vector<spin_barrier> all(30);
        graph dag;
        int expected = 0;
        for (int i = 0; i < 30; ++i) {
            const int w = 1 + i % 4;
            expected += w;
            dag.add(moldable([&, i](int, int width) {
                        all[static_cast<std::size_t>(i)].wait(width);
                        tree(2, [] {});
                        all[static_cast<std::size_t>(i)].wait(width);
                        ++shares;
                    }),
                    width(w), name("spins"));
            dag.add([&] { tree(3, [] {}), ++plain; });
        }
        for (int repeat = 1; repeat <= 3; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(shares, expected * repeat);
            ASSERT_EQ(plain, 30 * repeat);
        }
    }
}

TEST(moldable, shares_may_wait_for_each_other_in_wefts_own_ways) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<int> done{0};
        graph dag;
        for (int i = 0; i < 8; ++i)
            dag.add(moldable([&, b = std::make_shared<barrier<>>(3)](int rank, int w) {
                        EXPECT_EQ(w, 3);
                        for (int k = 0; k < 4; ++k) {
                            if (rank == 0) tree(4, [] {});
                            b->arrive_and_wait();
                        }
                        ++done;
                    }),
                    fixed_width(3));
        for (int repeat = 1; repeat <= 2; ++repeat) {
            rt.run([&] { dag.run(); });
            ASSERT_EQ(done, 24 * repeat);
        }
    });
}

TEST(moldable, the_exception_of_a_share_is_the_tasks) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 3, engine));
        std::atomic<int> shares{0};
        graph dag;
        int x = 0;
        dag.add(moldable([&](int rank, int) {
                    ++shares;
                    if (rank != 0) throw test::failure{rank};
                }),
                fixed_width(3), write(x));
        dag.add([] { ADD_FAILURE(); }, read(x));
        for (int repeat = 1; repeat <= 3; ++repeat) {
            const int failed = test::failure_of([&] { rt.run([&] { dag.run(); }); });
            EXPECT_TRUE(failed == 1 || failed == 2) << failed;
            ASSERT_EQ(shares, 3 * repeat);
        }
    });
}

TEST(moldable, inside_of_teams_is_as_wide_as_these) {
    for_each([](const std::string& policy, const std::string& engine) {
        runtime rt(with(policy, 4, engine));
        std::atomic<int> shares{0}, alone{0};
        graph dag;
        for (int i = 0; i < 4; ++i)
            dag.add(
                [&] {
                    graph inner;
                    inner.add(moldable([&](int, int w) {
                                  EXPECT_EQ(w, 3);
                                  ++shares;
                              }),
                              width(8));
                    inner.add(moldable([&](int rank, int w) {
                        EXPECT_EQ(w, 1);
                        EXPECT_EQ(rank, 0);
                        ++alone;
                    }));
                    inner.run();
                },
                cores(3));
        rt.run([&] { dag.run(); });
        EXPECT_EQ(shares, 12);
        EXPECT_EQ(alone, 4);
    });
}

} // namespace
} // namespace weft
