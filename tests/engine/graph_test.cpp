// Data-flow graphs: the result is that of the tasks run one after another in the order in which they were
// added, under every policy, number of workers and engine.
#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/graphs.hpp"

namespace weft {
namespace {

using namespace test::graphs;

// ---- an oracle

enum class how { read, write, readwrite, concurrent };

struct step { ///< a task: what it does to which data
    std::vector<std::pair<int, how>> accesses;
    std::uint64_t number;
};

std::vector<step> random_steps(std::mt19937& random, int tasks, int data) {
    std::vector<step> steps(static_cast<std::size_t>(tasks));
    std::uint64_t number = 1;
    for (auto& s : steps) {
        s.number = number++;
        for (int d = 0; d < data; ++d)
            if (random() % static_cast<unsigned>(data) < 2)
                s.accesses.emplace_back(d, static_cast<how>(random() % 4));
    }
    return steps;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    return (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
}

struct world {
    std::vector<std::atomic<std::uint64_t>> data;
    explicit world(int n) : data(static_cast<std::size_t>(n)) {}

    /// Data that are only written get what depends on all that was read; `concurrent` ones are added to.
    void carry_out(const step& s) {
        std::uint64_t seen = s.number;
        for (const auto& [d, h] : s.accesses)
            if (h == how::read || h == how::readwrite)
                seen = mix(seen, at(d).load(std::memory_order_relaxed));
        for (const auto& [d, h] : s.accesses) {
            if (h == how::write || h == how::readwrite) at(d).store(mix(seen, 1), std::memory_order_relaxed);
            if (h == how::concurrent) at(d).fetch_add(s.number * s.number, std::memory_order_relaxed);
        }
    }
    std::vector<std::uint64_t> values() const { return {data.begin(), data.end()}; }

private:
    std::atomic<std::uint64_t>& at(int d) { return data[static_cast<std::size_t>(d)]; }
};

graph_task add_step(graph& dag, world& w, const step& s) {
    const auto clause = [&](std::size_t i) {
        static const int nobody[3] = {}; // data that nothing else uses
        if (i >= s.accesses.size()) return read(nobody[i % 3]);
        const auto& x = w.data[static_cast<std::size_t>(s.accesses[i].first)];
        switch (s.accesses[i].second) {
        case how::read: return read(x);
        case how::write: return write(x);
        case how::readwrite: return readwrite(x);
        case how::concurrent: break;
        }
        return concurrent(x);
    };
    return dag.add([&w, &s] { w.carry_out(s); }, clause(0), clause(1), clause(2), clause(3), clause(4),
                   clause(5));
}

TEST(graph, the_result_is_that_of_the_order_of_adding) {
    WEFT_SEEDED;
    std::mt19937 random(static_cast<std::uint32_t>(test::seed));
    for (const auto& policy : policies) {
        for (const auto& engine : engines) {
            runtime rt(with(policy, policy == "serial" ? 1 : 4, engine));
            for (int program = 0; program < test::rounds(test::sanitized ? 3 : 8); ++program) {
                auto steps = random_steps(random, 80, 3 + static_cast<int>(random() % 6));
                for (auto& s : steps) s.accesses.resize(std::min<std::size_t>(s.accesses.size(), 6));
                const int data = 9;
                world expected(data), got(data), streamed(data);
                graph dag;
                for (const auto& s : steps) add_step(dag, got, s);
                for (int repeat = 0; repeat < 3; ++repeat) {
                    for (const auto& s : steps) expected.carry_out(s);
                    rt.run([&] { dag.run(); });
                    ASSERT_EQ(got.values(), expected.values())
                        << policy << " " << engine << " program " << program;
                }
                world once(data);
                for (const auto& s : steps) once.carry_out(s);
                rt.run([&] {
                    graph growing;
                    growing.start();
                    for (const auto& s : steps) add_step(growing, streamed, s);
                    growing.wait();
                });
                ASSERT_EQ(streamed.values(), once.values())
                    << policy << " " << engine << " program " << program;
            }
        }
    }
}

// ---- what waits for what

TEST(graph, after_orders_tasks_without_data) {
    runtime rt(with("steal", 4));
    std::vector<int> order;
    graph dag;
    auto a = dag.add([&] { order.push_back(1); });
    auto b = dag.add([&] { order.push_back(2); }, after(a));
    dag.add([&] { order.push_back(3); }, after(a, b, graph_task()));
    for (int i = 0; i < 3; ++i) rt.run([&] { dag.run(); });
    EXPECT_EQ(order, (std::vector{1, 2, 3, 1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(b.number(), 1U);
    EXPECT_EQ(dag.size(), 3U);
}

TEST(graph, order_may_be_said_later_and_a_cycle_is_refused_by_name) {
    graph dag;
    std::vector<int> order;
    auto a = dag.add([&] { order.push_back(1); }, name("load"));
    auto b = dag.add([&] { order.push_back(2); });
    auto c = dag.add([&] { order.push_back(3); }, after(b), name("store"));
    dag.order(c, a);
    dag.run();
    EXPECT_EQ(order, (std::vector{2, 3, 1}));
    const std::string cycle = message_of([&] { dag.order(a, b); });
    for (const char* part : {"task 0 'load'", "task 1", "task 2 'store'"})
        EXPECT_NE(cycle.find(part), std::string::npos) << cycle;
    EXPECT_NE(message_of([&] { dag.order(a, a); }).find("task 0 'load'"), std::string::npos);
    order.clear();
    dag.run();
    EXPECT_EQ(order, (std::vector{2, 3, 1}));
    graph other;
    EXPECT_NE(message_of([&] { other.add([] {}, after(a)); }).find("another graph"), std::string::npos);
    EXPECT_NE(message_of([&] { other.order(a, b); }).find("not of this graph"), std::string::npos);
    other.run(); // what was refused is a task that does nothing
}

TEST(graph, readers_run_side_by_side_and_writers_alone) {
    runtime rt(with("steal", 4));
    std::atomic<int> readers{0}, most{0}, wrong{0};
    int x = 0;
    graph dag;
    latch all(3);
    dag.add([&] { ++x; }, write(x));
    for (int i = 0; i < 3; ++i)
        dag.add(
            [&] {
                most = std::max(most.load(), ++readers);
                all.arrive_and_wait(); // none ends before all have begun
                --readers;
            },
            read(x));
    dag.add([&] { wrong += readers.load() != 0; }, readwrite(x));
    rt.run([&] { dag.run(); });
    EXPECT_EQ(most, 3);
    EXPECT_EQ(wrong, 0);
}

TEST(graph, a_datum_belongs_to_one_graph) {
    datum d;
    graph other;
    {
        graph first;
        first.add([] {}, write(d));
        first.add([] {}, read(d));
        const std::string says = message_of([&] { other.add([] {}, write(d)); });
        EXPECT_NE(says.find("a weft::datum is used in a second graph; given: a datum of graph "),
                  std::string::npos)
            << says;
        EXPECT_NE(says.find("allowed: a datum for each graph"), std::string::npos) << says;
        first.run();
    }
    // nor after its graph has gone
    EXPECT_NE(message_of([&] { other.add([] {}, read(d)); }).find("second graph"), std::string::npos);
    datum own;
    int ran = 0;
    other.add([&] { ++ran; }, write(own));
    other.run();
    EXPECT_EQ(ran, 1);
}

TEST(graph, a_datum_may_be_no_object) {
    graph dag;
    std::array<datum, 3> d;
    std::vector<int> order;
    dag.add([&] { order.push_back(0); }, write(d[0]));
    dag.add([&] { order.push_back(1); }, read(d[0]), write(d[1]));
    dag.add([&] { order.push_back(2); }, read(d[1]), write(d[2]));
    dag.run();
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(graph, of_ready_tasks_the_larger_priority_goes_first) {
    runtime rt(with("steal", 1));
    graph dag;
    std::vector<int> order;
    auto first = dag.add([] {});
    for (const int p : {2, 9, -1, 5}) dag.add([&order, p] { order.push_back(p); }, after(first), priority(p));
    rt.run([&] { dag.run(); });
    EXPECT_EQ(order, (std::vector{9, 5, 2, -1}));
}

// ---- failures

struct boom : std::runtime_error {
    using std::runtime_error::runtime_error;
};

TEST(graph, what_depends_on_a_failed_task_does_not_run_and_the_rest_does) {
    for (const auto& policy : policies) {
        runtime rt(with(policy, policy == "serial" ? 1 : 4));
        graph dag;
        int x = 0, y = 0, z = 0;
        bool fails = true;
        dag.add(
            [&] {
                if (fails) throw boom("first");
                x = 1;
            },
            write(x));
        dag.add([&] { y = x + 1; }, read(x), write(y));
        dag.add([&] { y = y + 1; }, readwrite(y));
        dag.add([&] { ++z; }, write(z));
        for (int i = 0; i < 2; ++i) {
            EXPECT_THROW(rt.run([&] { dag.run(); }), boom) << policy;
            EXPECT_EQ(y, 0) << policy;
        }
        EXPECT_EQ(z, 2) << policy;
        fails = false;
        rt.run([&] { dag.run(); });
        EXPECT_EQ(y, 3) << policy;
    }
}

// E3.
TEST(graph, what_is_added_behind_a_failed_task_does_not_run) {
    runtime rt(with("steal", 1)); // child-first: the task has failed when start() or add() returns
    rt.run([] {
        graph dag;
        dag.start();
        int x = 0;
        dag.add([] { throw boom("at once"); }, write(x));
        dag.add([&] { x = 1; }, read(x));
        EXPECT_THROW(dag.wait(), boom);
        EXPECT_EQ(x, 0);
    });
}

TEST(graph, a_closure_that_cannot_be_moved_in_leaves_the_graph_as_it_was) {
    struct moody {
        moody() = default;
        moody(const moody&) { throw boom("copied"); }
        void operator()() const { ADD_FAILURE(); }
    };
    graph dag;
    int x = 0;
    const moody m;
    EXPECT_THROW(dag.add(m, write(x)), boom);
    dag.add([&] { ++x; }, readwrite(x));
    dag.run();
    EXPECT_EQ(x, 1);
}

TEST(graph, closures_are_destroyed_with_the_graph) {
    const auto alive = std::make_shared<int>(7);
    {
        graph dag;
        dag.add([alive] {});
        dag.add([alive, room = std::array<char, 100>{}] { static_cast<void>(room); });
        EXPECT_EQ(alive.use_count(), 3);
        dag.run();
        dag.run();
    }
    EXPECT_EQ(alive.use_count(), 1);
}

// ---- runs

TEST(graph, tasks_may_add_tasks_fork_wait_and_run_graphs) {
    for (const auto& policy : policies) {
        runtime rt(with(policy, policy == "serial" ? 1 : 4));
        std::atomic<int> done{0};
        rt.run([&] {
            graph dag;
            int x = 0;
            dag.add(
                [&] {
                    for (int i = 0; i < 10; ++i)
                        dag.add(
                            [&] {
                                join([&] { ++done; }, [&] { ++done; });
                                task_group g;
                                for (int k = 0; k < 3; ++k) g.run([&] { ++done; });
                                g.wait();
                                graph inner;
                                auto a = inner.add([&] { ++done; });
                                inner.add([&] { ++done; }, after(a));
                                inner.run();
                            },
                            readwrite(x));
                },
                readwrite(x));
            dag.run();
            EXPECT_EQ(done, 70) << policy;
        });
    }
}

// E1, E2 and E4.
TEST(graph, other_threads_may_add_while_it_runs) {
    runtime rt(with("steal", 2));
    std::atomic<int> done{0};
    latch go(1);
    rt.run([&] {
        graph dag;
        dag.add([&] { go.wait(); });
        dag.start();
        std::thread other([&] {
            std::array<int, 5> data{};
            for (int i = 0; i < 1000; ++i)
                dag.add([&] { ++done; }, readwrite(data[static_cast<std::size_t>(i % 5)]));
            go.count_down();
        });
        EXPECT_NE(message_of([&] { dag.start(); }).find("running"), std::string::npos);
        EXPECT_NE(message_of([&] { static_cast<void>(dag.dot()); }).find("running"), std::string::npos);
        other.join();
        dag.wait();
    });
    EXPECT_EQ(done, 1000);
}

TEST(graph, from_a_thread_that_is_no_worker) {
    graph dag;
    int x = 0;
    for (int i = 0; i < 100; ++i) dag.add([&] { ++x; }, readwrite(x));
    dag.run();
    dag.start();
    dag.wait();
    dag.wait(); // there is nothing to wait for
    EXPECT_EQ(x, 200);
}

TEST(graph, a_long_chain_and_a_wide_fan_fit_on_a_small_stack) {
    runtime_options o = with("steal", 2);
    o.stack_bytes = 64 * 1024;
    runtime rt(o);
    constexpr int many = test::sanitized ? 20'000 : 200'000;
    std::atomic<int> done{0};
    graph dag;
    auto last = dag.add([] {});
    for (int i = 0; i < many; ++i) last = dag.add([&] { ++done; }, after(last));
    std::vector<graph_task> fan;
    for (int i = 0; i < many; ++i) dag.add([&] { ++done; }, after(last));
    // A comb: each tooth makes the next one ready, and a task beside it.
    for (int i = 0; i < many; ++i) {
        dag.add([&] { ++done; }, after(last));
        last = dag.add([&] { ++done; }, after(last));
    }
    for (int i = 0; i < 2; ++i) rt.run([&] { dag.run(); });
    EXPECT_EQ(done, 2 * 4 * many);
}

TEST(graph, a_wavefront_computes_binomials) {
    constexpr std::size_t n = 60;
    for (const int workers : {1, 2, 4}) {
        runtime rt(with("steal", workers));
        std::vector<std::uint64_t> cell(n * n);
        graph dag;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                auto& here = cell[i * n + j];
                if (i == 0 || j == 0)
                    dag.add([&here] { here = 1; }, write(here));
                else
                    dag.add([&here, up = &cell[(i - 1) * n + j],
                             left = &cell[i * n + j - 1]] { here = *up + *left; },
                            read(cell[(i - 1) * n + j]), read(cell[i * n + j - 1]), write(here));
            }
        rt.run([&] { dag.run(); });
        EXPECT_EQ(cell[4 * n + 4], 70U);
        EXPECT_EQ(cell[30 * n + 30], 118264581564861424U);
    }
}

// ---- what people read

TEST(graph, dot_and_dump) {
    graph plain({.record_accesses = false});
    EXPECT_NE(message_of([&] { static_cast<void>(plain.dump()); }).find("record_accesses"),
              std::string::npos);
    graph dag({.record_accesses = true});
    int x = 0, y = 0;
    dag.add([] {}, write(x), name("load \"x\""));
    dag.add([] {}, read(x), write(y));
    EXPECT_EQ(dag.dot(),
              "digraph weft {\n  0 [label=\"load \\\"x\\\" 0\"];\n  0 -> 1;\n  1 [label=\"1\"];\n}\n");
    const std::string dump = dag.dump();
    EXPECT_NE(dump.find("task 0 'load \"x\"': write 0x"), std::string::npos) << dump;
    EXPECT_NE(dump.find("(4 bytes) after 0\n"), std::string::npos) << dump;
}

} // namespace
} // namespace weft
