// weft
//
// What tasks of graphs may need besides their data: data that they change one at a time, and resources of the
// runtime.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/graphs.hpp"
#include "engine/resizer.hpp"

namespace weft {
namespace {

using namespace test::graphs;

runtime_options with_resources(const std::string& policy, int workers, const std::string& resources,
                               const std::string& engine = "threads") {
    runtime_options o = with(policy, workers, engine);
    o.resources = file_with(resources);
    return o;
}

/// Counts the tasks that are inside at the same time.
struct counted {
    std::atomic<int> inside{0}, most{0};
    void enter(int n = 1) {
        const int now = inside += n;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now)) {}
    }
    void leave(int n = 1) { inside -= n; }
};

// ---- commutative data

TEST(gate, commutative_tasks_run_one_at_a_time_in_any_order) {
    for (const auto& policy : policies)
        for (const auto& engine : engines) {
            runtime rt(with(policy, 4, engine));
            std::array<long, 5> sums{};
            std::array<counted, 5> inside{};
            long before = -1, after_all = -1, expected = 0;
            graph dag;
            dag.add([&] { before = sums[0]; }, read(sums[0]));
            for (int i = 0; i < 200; ++i) {
                const auto a = static_cast<std::size_t>(i % 5), b = static_cast<std::size_t>(i * 7 % 4);
                const auto work = [&sums, &inside, a, b] {
                    inside[a].enter();
                    if (b != a) inside[b].enter();
                    sums[a] += 1; // a race if two ran at a time
                    if (b != a) sums[b] += 1;
                    this_task::yield();
                    if (b != a) inside[b].leave();
                    inside[a].leave();
                };
                dag.add(work, commutative(sums[a]), commutative(sums[b]));
                expected += a == b ? 1 : 2;
            }
            dag.add([&] { after_all = sums[0] + sums[1] + sums[2] + sums[3] + sums[4]; }, read(sums[0]),
                    read(sums[1]), read(sums[2]), read(sums[3]), read(sums[4]));
            for (int repeat = 1; repeat <= 3; ++repeat) {
                rt.run([&] { dag.run(); });
                ASSERT_EQ(after_all, expected * repeat) << policy << " " << engine;
            }
            EXPECT_EQ(before, 2 * sums[0] / 3);
            for (const auto& c : inside) EXPECT_EQ(c.most, 1) << policy << " " << engine;
        }
}

TEST(gate, commutative_tasks_do_not_wait_for_earlier_ones_that_are_not_ready) {
    runtime rt(with("steal", 2));
    rt.run([] {
        graph dag;
        int x = 0;
        latch gate_of_the_first(1);
        std::vector<int> order;
        auto slow = dag.add([&] { gate_of_the_first.wait(); });
        dag.add([&] { order.push_back(1); }, commutative(x), after(slow));
        dag.add(
            [&] {
                order.push_back(2);
                gate_of_the_first.count_down();
            },
            commutative(x));
        dag.run(); // by the order of adding, the two would wait for each other
        EXPECT_EQ(order, (std::vector{2, 1}));
    });
}

TEST(gate, a_task_of_a_graph_that_waits_for_it_is_told) {
    runtime rt(with("steal", 2));
    rt.run([] {
        graph dag;
        int x = 0;
        std::string told;
        dag.add(
            [&] {
                dag.add([] {}, commutative(x));
                task_group g;
                g.run([&] { told = message_of([&] { dag.wait(); }); });
                g.wait();
            },
            commutative(x));
        dag.run();
        EXPECT_NE(told.find("one of its own tasks"), std::string::npos) << told;
    });
}

// ---- resources

// R1 and R2 of gate/README.md.
TEST(gate, no_more_than_there_is_runs_at_a_time) {
    for (const auto& policy : policies)
        for (const auto& engine : engines) {
            runtime rt(with_resources(policy, 4,
                                      "[[resource]]\nname = \"file\"\namount = 1\n"
                                      "[[resource]]\nname = \"memory\"\namount = 5\n",
                                      engine));
            counted files, memory;
            std::atomic<int> done{0};
            graph dag;
            for (int i = 0; i < 300; ++i) {
                const int m = 1 + i % 5;
                const bool file = i % 3 == 0;
                const auto work = [&files, &memory, &done, m, file] {
                    if (file) files.enter();
                    memory.enter(m);
                    cost(1000);
                    if (m % 2 == 0) this_task::yield();
                    memory.leave(m);
                    if (file) files.leave();
                    ++done;
                };
                if (file)
                    dag.add(work, needs("file"), needs("memory", m));
                else if (m > 1) // twice the same adds up
                    dag.add(work, needs("memory", 1), needs("memory", m - 1));
                else
                    dag.add(work, needs("memory"));
            }
            for (int repeat = 1; repeat <= 2; ++repeat) {
                rt.run([&] { dag.run(); });
                ASSERT_EQ(done, 300 * repeat) << policy << " " << engine;
            }
            EXPECT_EQ(files.most, 1) << policy << " " << engine;
            EXPECT_LE(memory.most, 5) << policy << " " << engine;
            if (policy == "steal" && engine == "model") { EXPECT_GE(memory.most, 4); }
        }
}

TEST(gate, what_cannot_be_had_is_refused_before_anything_runs) {
    const std::string resources = "[[resource]]\nname = \"file\"\namount = 2\n"
                                  "[[resource]]\nname = \"cache\"\namount = 4\noversubscribe = true\n";
    runtime rt(with_resources("steal", 2, resources));
    bool ran = false;
    graph outside; // where it will run is not known yet
    outside.add([&] { ran = true; });
    outside.add([] {}, needs("fil"), name("typo"));
    const std::string unknown = message_of([&] { rt.run([&] { outside.run(); }); });
    for (const char* part : {"task 1 'typo'", "'fil'", "file, cache"})
        EXPECT_NE(unknown.find(part), std::string::npos) << unknown;
    EXPECT_FALSE(ran);
    rt.run([&] {
        graph dag;
        EXPECT_NE(message_of([&] { dag.add([] {}, needs("file", 3)); }).find("at most 2"), std::string::npos);
        EXPECT_NE(message_of([&] { dag.add([] {}, needs("file", 0)); }).find("1 or more"), std::string::npos);
        EXPECT_NE(message_of([&] { dag.add([] {}, needs("gpu")); }).find("file, cache"), std::string::npos);
        dag.add([&] { ran = true; }, needs("cache", 9)); // may be exceeded
        dag.run();
        EXPECT_TRUE(ran);
    });
    runtime bare(with("steal", 1));
    EXPECT_NE(message_of([&] {
                  bare.run([&] {
                      graph g;
                      g.add([] {}, needs("file"));
                  });
              }).find("WEFT_RESOURCES"),
              std::string::npos);
}

TEST(gate, a_task_that_throws_gives_back_what_it_has) {
    for (const auto& policy : policies) {
        runtime rt(with_resources(policy, 4, "[[resource]]\nname = \"file\"\namount = 1\n"));
        graph dag;
        std::atomic<int> done{0};
        int x = 0;
        for (int i = 0; i < 20; ++i)
            dag.add(
                [&done, i] {
                    ++done;
                    if (i % 2) throw std::runtime_error("no disk");
                },
                needs("file"));
        dag.add([&] { throw std::runtime_error("no x"); }, commutative(x));
        dag.add([&] { ADD_FAILURE(); }, read(x), needs("file")); // depends on it
        EXPECT_THROW(rt.run([&] { dag.run(); }), std::runtime_error);
        EXPECT_THROW(rt.run([&] { dag.run(); }), std::runtime_error);
        EXPECT_EQ(done, 40);
    }
}

// R4 of gate/README.md.
TEST(gate, a_big_request_is_not_starved_by_small_ones) {
    for (const auto& engine : engines) {
        runtime rt(with_resources("steal", 4, "[[resource]]\nname = \"memory\"\namount = 4\n", engine));
        rt.run([] {
            graph dag;
            std::atomic<int> small{0};
            std::atomic<int> seen{-1};
            std::atomic<int> chains{4};
            // Four chains of small tasks, which continue until the big one has run.
            std::function<void()> next = [&] {
                ++small;
                cost(1000);
                if (seen >= 0 || small > 100'000)
                    --chains;
                else
                    dag.add([&] { next(); }, needs("memory"));
            };
            dag.start();
            for (int i = 0; i < 4; ++i) dag.add([&] { next(); }, needs("memory"));
            dag.add([&] { seen = small.load(); }, needs("memory", 4));
            dag.wait();
            EXPECT_EQ(chains, 0);
            EXPECT_LT(small, 100'000);
        });
    }
}

// R5 of gate/README.md.
TEST(gate, descendants_of_a_holder_pass_a_task_that_has_reserved) {
    for (const auto& policy : policies) {
        if (policy == "serial") continue; // no other worker could run the big one
        runtime rt(
            with_resources(policy, 2, "reserve_after = 1\n[[resource]]\nname = \"memory\"\namount = 3\n"));
        rt.run([&] {
            graph dag;
            std::atomic<bool> inner_ran{false};
            latch holds(1);
            dag.add(
                [&] {
                    holds.count_down();
                    this_task::sleep_for(std::chrono::milliseconds(5)); // the big one has been refused by now
                    graph inner;
                    for (int i = 0; i < 10; ++i) inner.add([&] { inner_ran = true; }, needs("memory", 2));
                    EXPECT_NE(
                        message_of([&] { inner.add([] {}, needs("memory", 3)); }).find("tasks around it"),
                        std::string::npos);
                    inner.run();
                },
                needs("memory", 1));
            dag.start();
            holds.wait();
            dag.add([&] { EXPECT_TRUE(inner_ran) << policy; }, needs("memory", 3));
            dag.wait();
        });
    }
}

// R7 of gate/README.md.
TEST(gate, what_rests_is_given_back_while_its_task_is_suspended) {
    for (const auto& policy : policies) {
        runtime rt(with_resources(policy, 4,
                                  "[[resource]]\nname = \"bandwidth\"\namount = 1\nsuspended = \"release\"\n"
                                  "[[resource]]\nname = \"disk\"\namount = 8\n"));
        rt.run([&] {
            counted inside;
            std::atomic<int> done{0};
            latch all(8);
            graph dag;
            for (int i = 0; i < 8; ++i)
                dag.add(
                    [&] {
                        inside.enter();
                        inside.leave();
                        all.arrive_and_wait(); // each lets the next one in
                        inside.enter();
                        cost(100);
                        inside.leave();
                        ++done;
                    },
                    needs("bandwidth"), needs("disk"));
            dag.run();
            EXPECT_EQ(done, 8) << policy;
            EXPECT_EQ(inside.most, 1) << policy;
        });
    }
}

// R3 of gate/README.md.
TEST(gate, of_resources_that_exclude_each_other_one_is_in_use) {
    runtime rt(
        with_resources("steal", 4,
                       "[[resource]]\nname = \"red\"\namount = 3\n[[resource]]\nname = \"blue\"\namount = 3\n"
                       "[[exclusive]]\nresources = [\"red\", \"blue\"]\n",
                       "model"));
    std::atomic<int> red{0}, blue{0}, together{0}, wrong{0}, done{0};
    graph dag;
    for (int i = 0; i < 200; ++i) {
        auto& mine = i % 2 ? red : blue;
        auto& other = i % 2 ? blue : red;
        dag.add(
            [&, i] {
                if (++mine > 1) ++together;
                wrong += other.load();
                cost(500 + 100 * static_cast<unsigned>(i % 7));
                wrong += other.load();
                --mine;
                ++done;
            },
            needs(i % 2 ? "red" : "blue"));
    }
    rt.run([&] { dag.run(); });
    EXPECT_EQ(done, 200);
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(together, 20);
}

// R6 of gate/README.md.
TEST(gate, a_resource_of_one_place_keeps_its_tasks_there) {
    for (const std::string policy : {"steal", "share", "near"}) {
        runtime rt(with_resources(policy, 16,
                                  "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [2]\namount = 3\n"
                                  "[[resource]]\nname = \"bandwidth\"\nper = \"memory_node\"\namount = 2\n",
                                  "model"));
        std::array<counted, 4> of_node{};
        counted on_disk;
        std::atomic<int> wrong{0}, done{0};
        graph dag;
        for (int i = 0; i < 100; ++i) {
            dag.add(
                [&] {
                    wrong += this_task::worker() / 4 != 2;
                    on_disk.enter();
                    cost(20'000);
                    on_disk.leave();
                    wrong += this_task::worker() / 4 != 2;
                    ++done;
                },
                needs("disk"));
            dag.add(
                [&] {
                    auto& here = of_node[static_cast<std::size_t>(this_task::worker() / 4)];
                    here.enter();
                    cost(20'000);
                    here.leave();
                    ++done;
                },
                needs("bandwidth"));
        }
        rt.run([&] { dag.run(); });
        EXPECT_EQ(done, 200) << policy;
        EXPECT_EQ(wrong, 0) << policy;
        EXPECT_EQ(on_disk.most, 3) << policy;
        for (std::size_t node = 0; node < 4;
             ++node) // node 2 has its disk, the others are not idle for nothing
            EXPECT_TRUE(of_node[node].most == 2 || (node == 2 && of_node[node].most < 2)) << policy << node;
    }
}

TEST(gate, what_only_inactive_workers_may_run_is_run_by_them) {
    for (const auto& policy : policies)
        for (const int workers : {8, 20}) { // of 16 cores
            runtime rt(
                with_resources(policy, workers,
                               "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [1]\namount = 1\n"));
            engine::thread_engine& e = test::engine_of(rt);
            std::atomic<int> done{0}, wrong{0};
            graph dag;
            for (int i = 0; i < 10; ++i) {
                dag.add(
                    [&] {
                        wrong += this_task::worker() % 16 / 4 != 1;
                        this_task::yield();
                        ++done;
                    },
                    needs("disk"));
                dag.add([&] { ++done; });
            }
            for (const int active : {1, 4, 6, 3, 1}) {
                e.set_active(active);
                done = 0;
                rt.run([&] { dag.run(); });
                ASSERT_EQ(done, 20) << policy;
            }
            EXPECT_EQ(wrong, 0) << policy;
        }
}

/// With more workers than cores only some of those asleep may run what is bound to a place.
/// In the model a sleeper stays asleep until it is woken; a thread looks now and then while there are spare stacks.
class gate_of_a_package : public testing::TestWithParam<std::pair<const char*, int>> {};
INSTANTIATE_TEST_SUITE_P(engines, gate_of_a_package,
                         testing::Values(std::pair{"threads", 20}, std::pair{"model", 16}));

TEST_P(gate_of_a_package, what_a_place_is_to_run_wakes_its_own_workers) {
    const auto [engine, workers] = GetParam(); // on 16 cores
    for (const auto& policy : policies) {
        runtime_options o = with_resources(
            policy, workers, "[[resource]]\nname = \"disk\"\nper = \"package\"\nonly = [1]\namount = 1\n",
            engine);
        o.spin = std::chrono::microseconds{0}; // they sleep at once
        runtime rt(o);
        std::atomic<int> done{0}, wrong{0};
        graph dag;
        for (int i = 0; i < 10; ++i)
            dag.add(
                [&] {
                    wrong += this_task::worker() % 16 / 4 != 1;
                    ++done;
                },
                needs("disk"));
        for (int i = 0; i < 5; ++i) rt.run([&] { dag.run(); });
        EXPECT_EQ(done, 50) << policy;
        EXPECT_EQ(wrong, 0) << policy;
    }
}

// ---- needs that the file gives to tasks by their names

std::string one_at_a_time(const std::string& tasks) {
    return "[[resource]]\nname = \"" + tasks + "\"\namount = 1\n[[needs]]\ntasks = \"" + tasks +
           "\"\nresource = \"" + tasks + "\"\n";
}

/// Counts how many tasks of each of two names run at the same time. They say nothing of what they need.
struct two_names {
    counted a, b;
    void add_to(graph& dag) {
        dag.add([this] { work(a); }, name("a"));
        dag.add([this] { work(b); }, name("b"));
    }
    static void work(counted& mine) {
        mine.enter();
        cost(10'000);
        this_task::yield();
        mine.leave();
    }
};

TEST(gate, the_file_says_what_tasks_of_a_name_need) {
    for (const auto& policy : policies)
        for (const auto& engine : engines) {
            const std::string where = policy + " " + engine;
            two_names before, inside, running; // when the tasks are added
            graph first;
            for (int i = 0; i < 40; ++i) before.add_to(first);
            runtime rt(with_resources(policy, 4, one_at_a_time("a"), engine));
            rt.run([&] {
                first.run();
                graph second;
                for (int i = 0; i < 40; ++i) inside.add_to(second);
                second.run();
                graph third;
                third.start();
                for (int i = 0; i < 40; ++i) running.add_to(third);
                third.wait();
            });
            for (const two_names* t : {&before, &inside, &running}) {
                EXPECT_EQ(t->a.most, 1) << where;
                EXPECT_TRUE(engine != "model" || t->b.most > 1) << where;
            }
        }
}

TEST(gate, each_runtime_has_its_own_file) {
    two_names tasks;
    graph dag;
    for (int i = 0; i < 40; ++i) tasks.add_to(dag);
    const auto most_of = [&](runtime_options o) {
        tasks.a.most = tasks.b.most = 0;
        runtime rt(std::move(o));
        rt.run([&] { dag.run(); });
        return std::pair(tasks.a.most.load() > 1, tasks.b.most.load() > 1);
    };
    const auto free = with("steal", 4, "model");
    EXPECT_EQ(most_of(free), std::pair(true, true));
    EXPECT_EQ(most_of(with_resources("steal", 4, one_at_a_time("a"), "model")), std::pair(false, true));
    EXPECT_EQ(most_of(with_resources("steal", 4, one_at_a_time("b"), "model")), std::pair(true, false));
    EXPECT_EQ(most_of(free), std::pair(true, true));
}

TEST(gate, what_the_file_says_of_a_resource_replaces_what_the_program_says) {
    const std::string resources =
        "[[resource]]\nname = \"x\"\namount = 4\n[[resource]]\nname = \"y\"\namount = 3\n";
    const std::string two = "[[needs]]\ntasks = \"a\"\nresource = \"x\"\namount = 2\n";
    const std::string all = "[[needs]]\ntasks = \"a\"\nresource = \"y\"\namount = 3\n";
    const auto most = [&](const std::string& file) {
        counted inside;
        graph dag;
        int data = 0;
        for (int i = 0; i < 40; ++i)
            dag.add([&] { two_names::work(inside); }, needs("x", 1), name("a"), concurrent(data));
        runtime rt(with_resources("steal", 4, file, "model"));
        for (int repeat = 0; repeat < 2; ++repeat) rt.run([&] { dag.run(); });
        return inside.most.load();
    };
    EXPECT_EQ(most(resources), 4);
    EXPECT_EQ(most(resources + two), 2);
    EXPECT_EQ(most(resources + two + all), 1); // another resource is needed beside
}

TEST(gate, more_than_there_is_by_the_file_is_an_error) {
    runtime rt(with_resources("steal", 2,
                              "[[resource]]\nname = \"x\"\namount = 2\n"
                              "[[needs]]\ntasks = \"a\"\nresource = \"x\"\namount = 3\n"));
    graph outside;
    bool ran = false;
    outside.add([&] { ran = true; }, name("a"));
    rt.run([&] {
        const std::string told = message_of([&] { outside.run(); });
        EXPECT_NE(told.find("at most 2"), std::string::npos) << told;
        graph dag;
        EXPECT_NE(message_of([&] { dag.add([] {}, name("a")); }).find("at most 2"), std::string::npos);
        dag.run();
    });
    EXPECT_FALSE(ran);
}

// ---- the file

TEST(gate, the_file_is_read_strictly) {
    const auto refused = [](const std::string& text) {
        return message_of([&] { runtime rt(with_resources("steal", 1, text)); });
    };
    const std::string name = "[[resource]]\nname = \"x\"\n";
    const std::pair<std::string, const char*> wrong[] = {
        {"[[resource]]\namount = 1\n", "name"},
        {name, "neither"},
        {name + "amount = 0\n", "1 to"},
        {name + "amount = 1\nper = \"socket\"\n", "package"},
        {name + "amount = 1\nper = \"package\"\nonly = [99]\n", "only"},
        {name + "amount = 1\n" + name + "amount = 1\n", "two resources"},
        {name + "amount = 1\nsuspended = \"sometimes\"\n", "keep"},
        {name + "amount = 1\ncolour = 3\n", "colour"},
        {name + "probe = \"devices\"\nper = \"core\"\n", "per"},
        {name + "amount = 1\n[[exclusive]]\nresources = [\"x\", \"y\"]\n", "no such resource"},
        {name + "amount = 1\n[[exclusive]]\nresources = [\"x\"]\n", "two names"},
        {"[[resource]]\nname = \"cores\"\namount = 1\n", "weft::cores"},
        {name + "amount = 1\n[[needs]]\ntasks = \"a\"\nresource = \"y\"\n", "no such resource"},
        {name + "amount = 1\n[[needs]]\nresource = \"x\"\n", "tasks"},
        {name + "amount = 1\n[[needs]]\ntasks = \"\"\nresource = \"x\"\n", "not empty"},
        {name + "amount = 1\n[[needs]]\ntasks = \"a\"\nresource = \"x\"\namount = 0\n", "1 to"},
        {name + "amount = 1\n[[needs]]\ntasks = \"a\"\nresource = \"x\"\n"
                "[[needs]]\ntasks = \"a\"\nresource = \"x\"\n",
         "twice"},
    };
    for (const auto& [text, part] : wrong)
        EXPECT_NE(refused(text).find(part), std::string::npos) << text << "\n" << refused(text);
    runtime_options o;
    o.resources = "/nowhere/resources.toml";
    EXPECT_NE(message_of([&] { runtime rt(o); }).find("/nowhere/resources.toml"), std::string::npos);
}

TEST(gate, amounts_may_be_probed_from_the_machine) {
    runtime rt(with_resources(
        "steal", 16,
        "[[resource]]\nname = \"slots\"\nprobe = \"cores\"\nper = \"package\"\n"
        "[[resource]]\nname = \"all\"\nprobe = \"cores\"\n"
        "[[resource]]\nname = \"cache\"\nprobe = \"cache_bytes\"\nper = \"cache\"\nshare = 0.5\n",
        "model"));
    rt.run([] {
        graph dag;
        const auto most = [&](const char* of) {
            return message_of([&] { dag.add([] {}, needs(of, std::int64_t{1} << 40)); });
        };
        EXPECT_NE(most("slots").find("at most 4"), std::string::npos) << most("slots");
        EXPECT_NE(most("all").find("at most 16"), std::string::npos) << most("all");
        EXPECT_NE(most("cache").find("at most 3145728"), std::string::npos) << most("cache");
    });
}

} // namespace
} // namespace weft
