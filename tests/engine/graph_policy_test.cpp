// ctest: tsan_cases=-graph_policy.locality_and*:graph_policy.socket_goes*:graph_policy.numalb_balances*
//
// weft
//
// What a policy that asks for it is told of a graph: its tasks one by one, with their data, where these lie,
// and how far each task is from the end.
#include "queue/locked_list.hpp"
#include "queue/spin_lock.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/modelled.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"

namespace weft {
namespace {

/// One queue for all; writes down what it is told.
struct witness final : policy {
    struct told {
        std::uint32_t number;
        int bottom_level;
        std::string name;
        int priority;
        std::vector<data_access> uses;
    };
    std::vector<told> ready_tasks;
    std::multiset<std::uint32_t> started_tasks, finished_tasks;
    std::map<std::uint32_t, std::set<std::uint32_t>> predecessors, successors; ///< as of the last graph_grew
    std::map<std::uint32_t, int> levels;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> growths; ///< first new one, size
    std::uint64_t graph = 0;

    requirements attach(const machine&, policy_context& context) override {
        context_ = &context;
        return {.resizable = true, .uses = true, .levels = true};
    }
    placement ready(worker_id, task& t, ready_reason reason) override {
        if (reason == ready_reason::released && t.graph() != 0) {
            const std::lock_guard guard(lock_);
            graph = t.graph();
            ready_tasks.push_back({t.graph_number(),
                                   t.bottom_level(),
                                   std::string(t.hint().name),
                                   t.hint().priority,
                                   {t.uses().begin(), t.uses().end()}});
        }
        tasks_.push_back(&t);
        return {context_->all().size(), context_->active()};
    }
    decision next(worker_id, bool) override { return {tasks_.try_pop_front(), context_->all().size()}; }
    spawn_order spawn(worker_id, task&, task&) override { return spawn_order::parent_first; }
    void started(worker_id, task& t) override { note(started_tasks, t); }
    void finished(worker_id, task& t, const usage&) override { note(finished_tasks, t); }
    void graph_grew(worker_id, const graph_view& view) override {
        const std::lock_guard guard(lock_);
        growths.emplace_back(view.first_new(), view.size());
        for (std::uint32_t t = 0; t < view.size(); ++t) {
            levels[t] = view.bottom_level(t);
            const auto put = [](void* into, std::uint32_t n) {
                static_cast<std::set<std::uint32_t>*>(into)->insert(n);
            };
            predecessors[t].clear();
            successors[t].clear();
            view.predecessors(t, put, &predecessors[t]);
            view.successors(t, put, &successors[t]);
        }
    }

private:
    void note(std::multiset<std::uint32_t>& in, const task& t) {
        const std::lock_guard guard(lock_);
        if (t.graph() != 0) in.insert(t.graph_number());
    }

    policy_context* context_ = nullptr;
    queue::locked_list<task> tasks_;
    queue::spin_lock<> lock_;
};

struct watched {
    witness* told;
    engine::thread_engine engine;
    explicit watched(int workers, std::unique_ptr<witness> p = std::make_unique<witness>())
        : told(p.get())
        , engine(std::move(p), test::equal_cores(workers),
                 {.workers = workers, .spin_time = std::chrono::microseconds(50)}) {}
    template <class F>
    void run(F&& f) {
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }
};

TEST(graph_policy, sees_every_task_with_what_it_declares) {
    watched w(2);
    std::array<double, 10> a{};
    int x = 0;
    datum d;
    w.run([&] {
        graph dag;
        dag.add([&] { x = 1; }, write(x), name("make"), priority(7));
        dag.add([&] { a[0] = x; }, read(x), readwrite(std::span(a)));
        dag.add([] {}, concurrent(a[0]), commutative(d));
        for (int run = 0; run < 2; ++run) dag.run();
    });
    ASSERT_EQ(w.told->ready_tasks.size(), 6U);
    EXPECT_EQ(w.told->started_tasks.size(), 6U);
    EXPECT_EQ(w.told->finished_tasks.size(), 6U);
    for (std::size_t run = 0; run < 2; ++run) {
        const auto* const tasks = &w.told->ready_tasks[3 * run];
        for (std::uint32_t n = 0; n < 3; ++n) {
            EXPECT_EQ(tasks[n].number, n);
            EXPECT_EQ(tasks[n].bottom_level, 3 - static_cast<int>(n));
        }
        EXPECT_EQ(tasks[0].name, "make");
        EXPECT_EQ(tasks[0].priority, 7);
        ASSERT_EQ(tasks[0].uses.size(), 1U);
        ASSERT_EQ(tasks[1].uses.size(), 2U);
        ASSERT_EQ(tasks[2].uses.size(), 2U);
        EXPECT_EQ(tasks[0].uses[0].datum, tasks[1].uses[0].datum);
        EXPECT_EQ(tasks[1].uses[0].bytes, sizeof x);
        EXPECT_EQ(tasks[1].uses[1].bytes, sizeof a);
        EXPECT_EQ(tasks[2].uses[0].datum, tasks[1].uses[1].datum);
        EXPECT_EQ(tasks[1].uses[0].mode, static_cast<std::uint8_t>(impl::data_mode::read));
        EXPECT_EQ(tasks[1].uses[1].mode, static_cast<std::uint8_t>(impl::data_mode::write));
        EXPECT_EQ(tasks[2].uses[0].mode, static_cast<std::uint8_t>(impl::data_mode::concurrent));
        EXPECT_EQ(tasks[2].uses[1].mode, static_cast<std::uint8_t>(impl::data_mode::commutative));
        EXPECT_EQ(tasks[2].uses[1].home, -1); // no object
    }
}

/// Tasks on the longest way to an end, by their successors.
int longest(const std::map<std::uint32_t, std::set<std::uint32_t>>& successors, std::uint32_t t,
            std::map<std::uint32_t, int>& known) {
    if (const auto at = known.find(t); at != known.end()) return at->second;
    int most = 0;
    for (const std::uint32_t u : successors.at(t)) most = std::max(most, longest(successors, u, known));
    return known[t] = most + 1;
}

TEST(graph_policy, the_bottom_level_is_the_longest_way_to_an_end) {
    WEFT_SEEDED;
    std::mt19937 random(static_cast<std::uint32_t>(test::seed));
    for (int program = 0; program < 20; ++program) {
        watched w(2);
        std::vector<std::set<std::uint32_t>> expected;
        const bool grows = program % 2 == 1;
        w.run([&] {
            graph dag;
            latch go(1);
            std::vector<graph_task> tasks;
            const auto add_one = [&] {
                const auto before = [&] {
                    return tasks.empty() || random() % 8 == 0 ? graph_task() : tasks[random() % tasks.size()];
                };
                const std::array<graph_task, 3> of = {before(), before(), before()};
                // All wait for the first one, which waits for the last to be added.
                if (tasks.empty())
                    tasks.push_back(dag.add([&] { go.wait(); }));
                else
                    tasks.push_back(dag.add([] {}, after(tasks[0], of[0], of[1], of[2])));
            };
            for (int i = 0; i < 30; ++i) add_one();
            dag.start();
            if (grows)
                for (int i = 0; i < 30; ++i) add_one();
            go.count_down();
            dag.wait();
        });
        const auto& told = *w.told;
        std::map<std::uint32_t, int> levels;
        for (const auto& [t, next] : told.successors) {
            for (const std::uint32_t u : next) EXPECT_TRUE(told.predecessors.at(u).contains(t));
            EXPECT_EQ(told.levels.at(t), longest(told.successors, t, levels)) << program << " task " << t;
        }
        ASSERT_EQ(told.successors.size(), grows ? 60U : 30U) << program;
        for (const auto& t : told.ready_tasks)
            EXPECT_TRUE(t.number == 0 || t.bottom_level == levels.at(t.number)) << program << " " << t.number;
        std::uint32_t known = 0; // everybody is told of once
        for (const auto& [first, size] : told.growths) {
            EXPECT_EQ(first, known);
            known = size;
        }
        EXPECT_EQ(known, grows ? 60U : 30U);
    }
}

// ---- the policies that look at data

struct where {
    int on_their_node = 0, tasks = 0;
};

where run_on_four_nodes(const std::string& policy, bool with_data) {
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.policy = policy;
    o.seed = 1;
    runtime rt(o);
    static constexpr std::size_t bytes = 64 * 1024;
    std::vector<std::vector<char>> blocks(64);
    where result;
    rt.run([&] {
        graph dag;
        for (int i = 0; i < 64; ++i) {
            auto& block = blocks[static_cast<std::size_t>(i)];
            block.resize(bytes);
            bind_to_node(block.data(), bytes, i % 4);
            for (int repeat = 0; repeat < 4; ++repeat) {
                const auto work = [&result, &block, i] {
                    touch(block.data(), bytes, access::readwrite);
                    cost(100'000);
                    ++result.tasks;
                    result.on_their_node += this_task::worker() / 4 == i % 4;
                };
                if (with_data)
                    dag.add(work, readwrite(std::span(block)));
                else
                    dag.add(work);
            }
        }
        dag.run();
    });
    return result;
}

TEST(graph_policy, locality_and_socket_take_tasks_to_their_data) {
    for (const std::string policy : {"locality", "socket", "socket:steal=off"}) {
        const where got = run_on_four_nodes(policy, true);
        EXPECT_EQ(got.tasks, 256);
        EXPECT_GE(got.on_their_node, policy == "socket:steal=off" ? 256 : 230) << policy;
    }
    const where blind = run_on_four_nodes("share", true);
    EXPECT_EQ(blind.tasks, 256);
    EXPECT_LE(blind.on_their_node, 128);
}

TEST(graph_policy, socket_goes_by_priority_and_children_stay_on_their_parents_node) {
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.policy = "socket:steal=off";
    o.seed = 1;
    {
        runtime rt(o);
        std::array<std::vector<int>, 4> order;
        int astray = 0;
        rt.run([&] {
            graph dag;
            // When the first one ends and the others get ready, the other workers are busy.
            const auto first = dag.add([] { cost(100'000); });
            for (int i = 1; i < 16; ++i) dag.add([] { cost(10'000'000); });
            for (int i = 0; i < 400; ++i)
                dag.add(
                    [&, i] {
                        const int node = this_task::worker() / 4;
                        order[static_cast<std::size_t>(node)].push_back(i / 4 % 10);
                        cost(10'000);
                        parallel_invoke([&] { astray += this_task::worker() / 4 != node; },
                                        [&] { astray += this_task::worker() / 4 != node; });
                    },
                    priority(i / 4 % 10), after(first));
            dag.run();
        });
        EXPECT_EQ(astray, 0);
        for (const auto& of_node : order) {
            EXPECT_EQ(of_node.size(), 100U); // they took turns
            EXPECT_TRUE(std::ranges::is_sorted(of_node, std::greater<>()));
        }
    }
}

// ---- the policy that balances graphs

/// Every sixteenth of 64 tasks takes ten times as long as the others. The first run deals them out in turn,
/// so that all of these lie on one worker; later ones leave a worker to each of them.
TEST(graph_policy, numalb_balances_a_graph_by_its_last_run) {
    runtime_options o;
    o.engine = "model";
    o.machine = WEFT_SOURCE_DIR "/machines/opteron-8380-4x4.toml";
    o.policy = "numalb";
    o.seed = 1;
    runtime rt(o);
    std::array<int, 64> ran{};
    std::array<worker_id, 64> worker{};
    graph dag;
    for (std::size_t i = 0; i < ran.size(); ++i)
        dag.add([&, i] {
            ++ran[i];
            worker[i] = this_task::worker();
            cost(i % 16 == 0 ? 100'000 : 10'000);
        });
    double first = 0;
    for (int run = 0; run < 3; ++run) {
        rt.run([&] { dag.run(); });
        for (const int times : ran) EXPECT_EQ(times, run + 1);
        const double seconds = rt.stats().seconds;
        if (run == 0) {
            first = seconds;
            continue;
        }
        EXPECT_LT(seconds, 0.7 * first) << run;
        std::set<worker_id> of_long, of_both;
        for (std::size_t i = 0; i < ran.size(); i += 16) of_long.insert(worker[i]);
        EXPECT_EQ(of_long.size(), 4U) << run;
        for (std::size_t i = 0; i < ran.size(); ++i)
            if (i % 16 != 0 && of_long.contains(worker[i])) of_both.insert(worker[i]);
        EXPECT_TRUE(of_both.empty()) << run;
    }
}

/// One of them is balanced at a time, and of the largest not all tasks are.
TEST(graph_policy, numalb_runs_every_task_of_graphs_that_run_beside_each_other) {
    WEFT_SEEDED;
    runtime_options o = test::setup{"numalb:tasks=50", 4}.options();
    o.machine = "pack:2 [numa] l3:1 core:2 pu:1";
    runtime rt(o);
    constexpr int runs = 20;
    std::mt19937 random(static_cast<std::uint32_t>(test::seed));
    std::array<graph, 3> graphs;
    std::array<std::vector<std::atomic<int>>, 3> ran{std::vector<std::atomic<int>>(20),
                                                     std::vector<std::atomic<int>>(50),
                                                     std::vector<std::atomic<int>>(80)};
    std::atomic<int> too_early{0};
    for (std::size_t g = 0; g < graphs.size(); ++g) {
        std::vector<graph_task> tasks;
        for (std::size_t i = 0; i < ran[g].size(); ++i) {
            const std::size_t before = i == 0 ? 0 : random() % i;
            const auto body = [&, g, i, before] {
                const int now = ++ran[g][i];
                if (i > 0 && ran[g][before] != now) ++too_early;
                join([] {}, [] {});
            };
            tasks.push_back(i == 0 ? graphs[g].add(body) : graphs[g].add(body, after(tasks[before])));
        }
    }
    rt.run([&] {
        const auto again = [&](std::size_t g) {
            return [&, g] {
                for (int run = 0; run < runs; ++run) graphs[g].run();
            };
        };
        parallel_invoke(again(0), again(1), again(2));
    });
    EXPECT_EQ(too_early, 0);
    for (const auto& of_graph : ran)
        for (const auto& times : of_graph) EXPECT_EQ(times, runs);
}

} // namespace
} // namespace weft
