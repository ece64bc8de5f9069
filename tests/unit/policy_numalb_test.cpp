// The balance of NUMALB: the factors of equation (4.3), the cost of (4.4), heaviest first; and the policy
// that balances a graph by it in each run.
#include "policy/on_sockets.hpp"
#include "policy/parts/numa_balance.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// Two nodes of one core, F = 1.5 between them; A 10, B 6, C 5; messages AB 4, AC 1, BC 2; A and B were on
/// node 0, C on node 1. A stays (-2.5 against 5), B goes over (9 against 4), C stays (12 against 5.5).
TEST(numa_balance, vector_of_three_tasks) {
    const numa_factors f{2, {1, 1.5, 1.5, 1}};
    const std::vector<double> load{10, 6, 5};
    const std::vector<int> node_of_core{0, 1};
    const std::vector<std::pair<std::pair<unsigned, unsigned>, double>> edges{
        {{0, 1}, 4}, {{0, 2}, 1}, {{1, 2}, 2}};
    std::vector<int> core{0, 0, 1};
    numa_scratch room{std::vector<std::uint32_t>(3), std::vector<double>(2), std::vector<double>(2)};
    numa_balance(load, core, node_of_core, f, 1.0, room, [&](std::uint32_t t, auto&& each) {
        for (const auto& [pair, count] : edges) {
            if (pair.first == t) each(pair.second, count);
            if (pair.second == t) each(pair.first, count);
        }
    });
    EXPECT_EQ(core, (std::vector<int>{0, 1, 1}));
    EXPECT_EQ(room.on_core, (std::vector<double>{10, 11}));
}

TEST(numa_balance, without_messages_the_heaviest_go_to_the_emptiest) {
    const numa_factors f{1, {1}};
    const std::vector<double> load{1, 5, 3, 3};
    const std::vector<int> node_of_core{0, 0};
    std::vector<int> core{0, 0, 0, 0};
    numa_scratch room{std::vector<std::uint32_t>(4), std::vector<double>(2), std::vector<double>(1)};
    numa_balance(load, core, node_of_core, f, 1.0, room, [](std::uint32_t, auto&&) {});
    EXPECT_EQ(core, (std::vector<int>{0, 0, 1, 1})); // 5 + 1 and 3 + 3
}

// ---- the policy

struct some_graph final : graph_view {
    some_graph(std::uint64_t run, const std::vector<double>& work,
               std::vector<std::pair<std::uint32_t, std::uint32_t>> after = {})
        : number(run)
        , edges(std::move(after)) {
        for (const double w : work) of.push_back({.work = w});
    }
    std::uint64_t id() const noexcept override { return number; }
    std::uint32_t size() const noexcept override { return static_cast<std::uint32_t>(of.size()); }
    std::uint32_t first_new() const noexcept override { return old; }
    const hints& hint(std::uint32_t t) const noexcept override { return of[t]; }
    int bottom_level(std::uint32_t) const noexcept override { return 1; }
    void predecessors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        for (const auto& [from, to] : edges)
            if (to == t) each(with, from);
    }
    void successors(std::uint32_t t, void (*each)(void*, std::uint32_t), void* with) const override {
        for (const auto& [from, to] : edges)
            if (from == t) each(with, to);
    }

    std::uint64_t number;
    std::vector<hints> of;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges; ///< from, to
    std::uint32_t old = 0;
};

/// Two workers, on one memory node or on two whose factor is 2.
struct two_workers : test::on_sockets {
    explicit two_workers(const std::string& spec, int nodes = 1) : on_sockets(spec, nodes, 2 / nodes) {}

    task& task_of(std::uint64_t graph, std::uint32_t number) {
        task& t = make();
        t.graph_ = graph;
        t.graph_number_ = number;
        return t;
    }
    /// Where `w` puts the tasks of the run as it releases them.
    std::vector<int> release(worker_id w, std::uint64_t graph, std::uint32_t count) {
        std::vector<int> at;
        for (std::uint32_t i = 0; i < count; ++i) {
            task& t = task_of(graph, i);
            at.push_back(scheduler->ready(w, t, ready_reason::released).at);
            EXPECT_EQ(scheduler->next(at.back(), false).t, &t);
        }
        return at;
    }
    void end(std::uint64_t graph, std::uint32_t number, time_ns took, bool cancelled = false) {
        usage used;
        used.self = took;
        used.cancelled = cancelled;
        scheduler->finished(0, task_of(graph, number), used);
    }
};

TEST(policy_numalb, tasks_go_by_their_hints_and_then_by_what_they_took) {
    two_workers p("numalb:alpha=0");
    EXPECT_TRUE(p.need.own_usage);
    EXPECT_TRUE(p.need.levels);
    p->graph_grew(0, some_graph(7, {0, 0, 0, 0}));
    EXPECT_EQ(p.release(1, 7, 4), (std::vector{0, 1, 0, 1})); // all alike
    p->graph_grew(0, some_graph(8, {1, 5, 3, 3}));
    EXPECT_EQ(p.release(1, 8, 4), (std::vector{0, 0, 1, 1})); // 5 + 1 and 3 + 3
    for (const auto& [number, took] : {std::pair{0U, 900}, {1U, 100}, {2U, 200}, {3U, 300}})
        p.end(8, number, took);
    p.end(8, 1, 1'000'000, true); // a task that is cancelled takes no time
    p->graph_grew(0, some_graph(9, {1, 5, 3, 3}));
    EXPECT_EQ(p.release(1, 9, 4), (std::vector{0, 1, 1, 1})); // 900, and 300 + 200 + 100
}

/// Each message to a task on the other node costs 4, and one to a task on the same node gains 2.
TEST(policy_numalb, tasks_that_talk_to_each_other_are_on_one_node) {
    two_workers p("numalb:alpha=2", 2);
    p->graph_grew(0, some_graph(7, {3.5, 3.5, 3.5, 3.5}, {{0, 1}, {2, 3}}));
    EXPECT_EQ(p.release(0, 7, 4), (std::vector{1, 1, 0, 0})); // where the second one was, and the other one
}

TEST(policy_numalb, tasks_of_other_runs_and_beyond_its_number_stay_where_they_come_up) {
    two_workers p("numalb:alpha=0,tasks=2");
    p->graph_grew(0, some_graph(7, {1, 1, 1, 1}));
    EXPECT_EQ(p.release(1, 7, 4), (std::vector{0, 1, 1, 1}));
    EXPECT_EQ(p.release(1, 8, 2), (std::vector{1, 1}));
    EXPECT_EQ(p.release(1, 0, 1), (std::vector{1}));
    some_graph grown(7, {1, 1, 1});
    grown.old = 2;
    p->graph_grew(0, grown); // tasks that come while it runs change nothing
    EXPECT_EQ(p.release(1, 7, 3), (std::vector{0, 1, 1}));
}

TEST(policy_numalb, what_the_balance_has_placed_is_left_there_while_another_one_looks_for_work) {
    two_workers p("numalb:alpha=0");
    p->graph_grew(0, some_graph(7, {1, 1}));
    task& placed_at_0 = p.task_of(7, 0);
    const placement at = p->ready(1, placed_at_0, ready_reason::released);
    EXPECT_EQ(at.near, 0);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(p->next(1, false).t, nullptr);
    EXPECT_EQ(p->next(1, true).t, &placed_at_0); // but no task waits for a worker that is busy
}

} // namespace
} // namespace weft
