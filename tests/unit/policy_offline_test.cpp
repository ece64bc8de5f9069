// The order of offline: sharing graphs, spanning trees, groups that fit caches, and a policy that writes a
// profile and follows it.
// ctest: labels=metis
#include "policy/fake_context.hpp"
#include "policy/parts/partitioner.hpp"
#include "policy/parts/sharing_order.hpp"
#include "policy/seam/registry.hpp"

#include "machine/load.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace weft {
namespace {

using edges_of = std::vector<std::vector<sharing_graph::edge>>;

/// Task i touches the ranges of line i of the list.
std::vector<profiled_task> tasks_of(const std::vector<std::vector<line_range>>& lines) {
    std::vector<profiled_task> tasks;
    for (const auto& l : lines) tasks.push_back({.id = tasks.size() + 1, .work = 1, .lines = l});
    return tasks;
}

std::uint64_t shared(const sharing_graph& g, std::size_t a, std::size_t b) {
    for (const auto& e : g.edges[a])
        if (e.to == b) return e.lines;
    return 0;
}

TEST(policy_offline, tasks_share_the_lines_that_both_touch) {
    const auto tasks =
        tasks_of({{{0, 10}}, {{5, 15}, {100, 110}}, {{14, 20}, {8, 9}}, {{0, 3}, {2, 4}, {7, 7}}, {}});
    const sharing_graph g(tasks);
    EXPECT_EQ(shared(g, 0, 1), 5U);
    EXPECT_EQ(shared(g, 1, 0), 5U);
    EXPECT_EQ(shared(g, 1, 2), 2U);
    EXPECT_EQ(shared(g, 0, 2), 1U);
    EXPECT_EQ(shared(g, 0, 3), 4U); // what a task says twice counts once
    EXPECT_EQ(shared(g, 2, 3), 0U);
    EXPECT_TRUE(g.edges[4].empty());
    EXPECT_EQ(working_set(tasks, std::vector<std::size_t>{0, 1, 3}), 25U);
}

// ---- partitioner

/// `cliques` of `size` vertices each, whose edges weigh 100, in a ring of edges that weigh 1. Vertex v is in clique v % cliques.
edges_of ring_of_cliques(std::size_t cliques, std::size_t size) {
    edges_of edges(cliques * size);
    for (std::size_t a = 0; a < edges.size(); ++a)
        for (std::size_t b = 0; b < edges.size(); ++b)
            if (a != b && a % cliques == b % cliques) edges[a].push_back({b, 100});
    for (std::size_t c = 0; c < cliques; ++c) {
        const std::size_t next = (c + 1) % cliques;
        if (next == c || (cliques == 2 && c == 1)) continue;
        edges[c].push_back({next, 1});
        edges[next].push_back({c, 1});
    }
    return edges;
}

TEST(partitioner, cuts_where_little_is_shared) {
    require_partitioner();
    for (const std::size_t cliques : {2U, 3U, 8U}) {
        const edges_of edges = ring_of_cliques(cliques, 6);
        const std::vector<double> work(edges.size(), 1);
        const auto of = partition(edges, work, cliques);
        ASSERT_EQ(of.size(), edges.size());
        std::set<std::size_t> groups;
        for (std::size_t v = 0; v < of.size(); ++v) {
            EXPECT_EQ(of[v], of[v % cliques]) << "a clique is cut, of " << cliques;
            groups.insert(of[v]);
        }
        EXPECT_EQ(groups.size(), cliques);
        EXPECT_LT(*groups.rbegin(), cliques);
        EXPECT_EQ(partition(edges, work, cliques), of) << "the same graph is divided otherwise";
    }
}

TEST(partitioner, groups_weigh_the_same_also_without_edges) {
    std::vector<double> work(40, 1e-3);
    for (std::size_t v = 0; v < 10; ++v) work[v] = 3e-3; // as much as the other 30
    const auto of = partition(edges_of(work.size()), work, 2);
    double first = 0, all = 0;
    for (std::size_t v = 0; v < work.size(); ++v) {
        ASSERT_LT(of[v], 2U);
        all += work[v];
        if (of[v] == 0) first += work[v];
    }
    EXPECT_NEAR(first, all / 2, 0.1 * all);
    const auto unknown = partition(edges_of(8), std::vector<double>(8, 0), 2); // nothing is known of the work
    EXPECT_NEAR(static_cast<double>(std::accumulate(unknown.begin(), unknown.end(), std::size_t{0})), 4, 1);
}

TEST(policy_offline, order_of_entering_the_spanning_tree) {
    const auto both = [](edges_of& e, std::size_t a, std::size_t b, std::uint64_t lines) {
        e[a].push_back({b, lines});
        e[b].push_back({a, lines});
    };
    edges_of e(6);
    both(e, 0, 1, 2);
    both(e, 0, 2, 5);
    both(e, 2, 3, 4);
    both(e, 3, 1, 9);
    both(e, 0, 4, 3);
    EXPECT_EQ(spanning_tree_order(e), (std::vector<std::size_t>{0, 2, 3, 1, 4, 5}));
    EXPECT_EQ(spanning_tree_order(edges_of(3)), (std::vector<std::size_t>{0, 1, 2}));
    EXPECT_TRUE(spanning_tree_order({}).empty());
}

/// Two chains of eight tasks, interleaved; neighbours in a chain share half of their eight lines.
std::vector<profiled_task> two_chains() {
    std::vector<std::vector<line_range>> lines;
    for (std::uint64_t i = 0; i < 8; ++i)
        for (const std::uint64_t chain : {0U, 1000U}) lines.push_back({{chain + 4 * i, chain + 4 * i + 8}});
    return tasks_of(lines);
}

TEST(policy_offline, groups_fit_their_caches_and_each_task_is_once_in_the_order) {
    const auto tasks = two_chains(); // each chain touches 36 lines
    const std::vector<std::uint64_t> caches = {36, 16};
    const auto order = order_by_sharing(tasks, caches);
    ASSERT_EQ(order.size(), tasks.size());
    std::set<std::size_t> seen;
    std::vector<std::vector<std::size_t>> outer, inner;
    for (std::size_t i = 0; i < order.size(); ++i) {
        seen.insert(order[i].task);
        outer.resize(static_cast<std::size_t>(order[i].outer) + 1);
        outer.back().push_back(order[i].task);
        inner.resize(static_cast<std::size_t>(order[i].inner) + 1);
        inner.back().push_back(order[i].task);
        if (i > 0) { // groups are without gaps, one after the other
            EXPECT_GE(order[i].outer, order[i - 1].outer);
            EXPECT_GE(order[i].inner, order[i - 1].inner);
        }
    }
    EXPECT_EQ(seen.size(), tasks.size());
    EXPECT_EQ(outer.size(), 2U); // the chains, which share nothing
    for (const auto& g : outer) {
        EXPECT_EQ(g.size(), 8U);
        for (const std::size_t t : g) EXPECT_EQ(t % 2, g.front() % 2);
        EXPECT_LE(working_set(tasks, g), 36U);
    }
    for (const auto& g : inner) EXPECT_LE(working_set(tasks, g), 16U);
    EXPECT_GE(inner.size(), 6U);
}

TEST(policy_offline, everything_fits_or_nothing_does) {
    const auto tasks = two_chains();
    const auto one = order_by_sharing(tasks, std::vector<std::uint64_t>{1000});
    for (const ordered_task& o : one) EXPECT_EQ(o.outer + o.inner, 0);
    const auto all = order_by_sharing(tasks, std::vector<std::uint64_t>{1, 1});
    EXPECT_EQ(all.back().outer, 15);
    EXPECT_EQ(all.back().inner, 15);
    EXPECT_EQ(order_by_sharing(tasks, {}).size(), 16U);
    EXPECT_TRUE(order_by_sharing({}, std::vector<std::uint64_t>{10}).empty());
    const std::vector<profiled_task> strangers(5);
    EXPECT_EQ(order_by_sharing(strangers, std::vector<std::uint64_t>{10}).size(), 5U);
}

// ---- the policy

class policy_offline_run : public testing::Test {
protected:
    void TearDown() override { std::filesystem::remove(file); }
    void write(const std::string& text) { std::ofstream(file) << text; }
    std::unique_ptr<policy> make() { return make_policy("offline:profile=" + file); }

    struct record {
        task t;
        alignas(std::max_align_t) std::byte bytes[max_task_bytes]{};
    };
    const std::string file =
        (std::filesystem::temp_directory_path() / ("weft_offline_" + std::to_string(getpid()))).string();
    const machine on = load_synthetic("pack:2 [numa] l3:1(size=2304) core:2 pu:1"); // 36 lines
    test::fake_context context{4};
};

/// O1 of src/policy/offline.cpp.
TEST_F(policy_offline_run, writes_a_profile_and_follows_it) {
    struct alignas(64) line {
        char bytes[64];
    };
    const std::vector<line> data(400);
    const auto at = [&](std::size_t task) { // of the interleaved chains
        return data.data() + (task % 2 == 0 ? 0 : 200) + task / 2 * 4;
    };
    task parent;
    group in;
    const auto play = [&](bool records, auto&& order) {
        const auto p = make();
        const requirements need = p->attach(on, context);
        EXPECT_EQ(need.own_usage, records);
        std::deque<record> tasks(16);
        for (std::size_t i = 0; i < 16; ++i) {
            task& t = tasks[i].t;
            t.parent_ = &parent;
            t.group_ = &in;
            t.id_ = 100 + i;
            t.hint_ = {.data_begin = at(i), .data_end = at(i) + 8};
            EXPECT_EQ(p->spawn(0, parent, t), spawn_order::parent_first);
            EXPECT_EQ(p->ready(0, t, ready_reason::spawned).who.size(), 4);
        }
        for (int i = 0; i < 16; ++i) {
            const worker_id w = i % 2 == 0 ? 0 : 2; // of two sockets
            task* const t = p->next(w, true).t;
            ASSERT_NE(t, nullptr);
            order(w, t->id_ - 100);
            usage used;
            used.self = 10;
            p->finished(w, *t, used);
        }
        EXPECT_EQ(p->next(0, true).t, nullptr);
    };
    play(true, [](worker_id, std::uint64_t) {});
    ASSERT_TRUE(std::filesystem::exists(file));
    std::vector<std::uint64_t> ran[4];
    play(false, [&](worker_id w, std::uint64_t task) { ran[w].push_back(task); });
    if (ran[0].front() == 1) std::swap(ran[0], ran[2]);
    // Each socket has a chain, from its begin to its end; which one, METIS says.
    EXPECT_EQ(ran[0], (std::vector<std::uint64_t>{0, 2, 4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(ran[2], (std::vector<std::uint64_t>{1, 3, 5, 7, 9, 11, 13, 15}));
}

TEST_F(policy_offline_run, what_is_cancelled_is_not_in_the_profile) {
    {
        const auto p = make();
        p->attach(on, context);
        task parent;
        group in;
        for (const bool cancelled : {true, false}) {
            record one;
            one.t.parent_ = &parent;
            one.t.group_ = &in;
            one.t.id_ = cancelled ? 0xff : 0xfe;
            usage used;
            used.self = 10;
            used.cancelled = cancelled;
            p->finished(0, one.t, used);
        }
    }
    std::ifstream in(file);
    std::string first, second, third;
    std::getline(in, first), std::getline(in, second);
    EXPECT_EQ(second, "fe 10");
    EXPECT_FALSE(std::getline(in, third));
}

TEST_F(policy_offline_run, a_task_that_yields_lets_those_behind_it_go_first) {
    write("weft profile 1\n1 10 1-5\n2 10 2-6\n");
    const auto p = make();
    p->attach(on, context);
    std::deque<record> tasks(2);
    for (std::size_t i = 0; i < 2; ++i) {
        tasks[i].t.id_ = i + 1;
        p->ready(0, tasks[i].t, ready_reason::spawned);
    }
    ASSERT_EQ(p->next(1, false).t, &tasks[0].t);
    tasks[0].t.state_ = task_state::suspended;
    int looks = 0;
    for (task* got = &tasks[0].t; got == &tasks[0].t && looks < 100; ++looks) {
        p->ready(1, *got, ready_reason::yielded);
        do got = p->next(1, false).t;
        while (got == nullptr);
    }
    EXPECT_LT(looks, 100);
}

/// O2 of src/policy/offline.cpp.
TEST_F(policy_offline_run, strangers_and_tasks_that_have_begun_are_not_lost) {
    write("weft profile 1\nff 10 1-5 7-9\n1 3\n");
    const auto p = make();
    p->attach(on, context);
    std::deque<record> tasks(3);
    tasks[0].t.id_ = 0xff;
    tasks[1].t.id_ = 0xfe;
    for (auto& r : tasks) p->ready(0, r.t, ready_reason::spawned);
    std::set<task*> got;
    for (const worker_id w : {3, 3, 3}) got.insert(p->next(w, true).t);
    EXPECT_EQ(got.size(), 3U);
    EXPECT_FALSE(got.contains(nullptr));
    p->ready(1, tasks[0].t, ready_reason::unblocked);
    EXPECT_EQ(p->next(2, true).t, &tasks[0].t);
}

TEST_F(policy_offline_run, a_file_that_is_none_is_an_error) {
    for (const char* text : {"", "something\n", "weft profile 1\nxyz\n", "weft profile 1\n1 2 3\n",
                             "weft profile 1\n1 2 3-x\n"}) {
        write(text);
        EXPECT_THROW(make()->attach(on, context), error) << text;
    }
}

} // namespace
} // namespace weft
