// The five programs on graphs of examples/side_by_side against serial ones that share no code with them: as tasks and as loops,
// on real threads and in virtual time.
#include "../../examples/side_by_side/power_law_graph.hpp"

#include <weft/weft.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace weft {
namespace {

using examples::power_law_graph;

/// Each edge in both directions.
struct plain_graph {
    std::vector<std::set<std::size_t>> next;

    explicit plain_graph(const power_law_graph& g) : next(g.size()) {
        for (std::size_t v = 0; v < g.size(); ++v)
            for (const auto* u = g.begin(v); u != g.end(v); ++u) next[v].insert(*u);
    }
};

struct ways_from_root {
    std::vector<int> edges;    ///< from the root; -1: there is no way
    std::vector<double> count; ///< of shortest ways
    std::vector<std::size_t> in_order;
};
ways_from_root by_queue(const plain_graph& g, std::size_t root) {
    ways_from_root w{std::vector<int>(g.next.size(), -1), std::vector<double>(g.next.size()), {}};
    std::queue<std::size_t> waiting({root});
    w.edges[root] = 0;
    w.count[root] = 1;
    for (; !waiting.empty(); waiting.pop()) {
        const std::size_t v = waiting.front();
        w.in_order.push_back(v);
        for (const std::size_t u : g.next[v]) {
            if (w.edges[u] < 0) {
                w.edges[u] = w.edges[v] + 1;
                waiting.push(u);
            }
            if (w.edges[u] == w.edges[v] + 1) w.count[u] += w.count[v];
        }
    }
    return w;
}

/// U. Brandes, 2001: dependencies on the root, in the order against the search.
std::vector<double> dependencies(const plain_graph& g, std::size_t root) {
    const ways_from_root w = by_queue(g, root);
    std::vector<double> of(g.next.size());
    for (auto v = w.in_order.rbegin(); v != w.in_order.rend(); ++v)
        for (const std::size_t u : g.next[*v])
            if (w.edges[u] + 1 == w.edges[*v]) of[u] += w.count[u] / w.count[*v] * (1 + of[*v]);
    return of;
}

std::vector<double> ranks(const plain_graph& g, int steps) {
    const std::size_t n = g.next.size();
    std::vector<double> now(n, 1.0 / static_cast<double>(n));
    for (int k = 0; k < steps; ++k) {
        std::vector<double> next(n);
        double lost = 0;
        for (std::size_t v = 0; v < n; ++v) {
            if (g.next[v].empty()) lost += now[v];
            for (const std::size_t u : g.next[v]) next[u] += now[v] / static_cast<double>(g.next[v].size());
        }
        for (double& r : next) r = 0.15 / static_cast<double>(n) + 0.85 * (r + lost / static_cast<double>(n));
        now = next;
    }
    return now;
}

std::vector<std::size_t> least_connected(const plain_graph& g) {
    std::vector<std::size_t> parent(g.next.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t v) {
        while (parent[v] != v) v = parent[v];
        return v;
    };
    for (std::size_t v = 0; v < g.next.size(); ++v)
        for (const std::size_t u : g.next[v]) {
            const std::size_t a = root(u), b = root(v);
            parent[std::max(a, b)] = std::min(a, b);
        }
    for (std::size_t v = 0; v < g.next.size(); ++v) parent[v] = root(v);
    return parent;
}

std::uint64_t count_triangles(const plain_graph& g) {
    std::uint64_t all = 0;
    for (std::size_t a = 0; a < g.next.size(); ++a)
        for (const std::size_t b : g.next[a])
            for (const std::size_t c : g.next[b]) all += a < b && b < c && g.next[a].contains(c);
    return all;
}

/// The seed of the graph, whether its programs are loops, and the policy.
class graph_programs
    : public testing::TestWithParam<std::tuple<std::uint64_t, bool, std::string, std::string>> {
protected:
    static constexpr int log_vertices = 9, degree = 4;

    graph_programs()
        : rt({.workers = 4,
              .policy = std::get<2>(GetParam()),
              .engine = std::get<3>(GetParam()),
              .machine = std::get<3>(GetParam()) == "model" ? "pack:2 [numa] l3:1 core:2 pu:1" : "",
              .seed = std::get<0>(GetParam())})
        , g(log_vertices, degree, std::get<0>(GetParam()), std::get<1>(GetParam()))
        , plain(g) {}

    runtime rt;
    const power_law_graph g;
    const plain_graph plain;
};

TEST_P(graph_programs, the_graph_has_edges_in_both_directions_and_vertices_without_any) {
    EXPECT_GT(g.edges(), g.size());
    std::size_t without = 0;
    for (std::size_t v = 0; v < g.size(); ++v) {
        without += g.degree(v) == 0;
        ASSERT_EQ(plain.next[v].size(), g.degree(v)) << "no edge twice";
        for (const std::size_t u : plain.next[v]) EXPECT_TRUE(plain.next[u].contains(v));
        EXPECT_FALSE(plain.next[v].contains(v));
    }
    EXPECT_GT(without, 0U) << "what PageRank and the components do with them is tested below";
}

TEST_P(graph_programs, breadth_first_search) {
    // A vertex in the middle of the graph, and one that is connected with none.
    std::size_t lonely = 0;
    while (g.degree(lonely) > 0) ++lonely;
    for (const std::size_t root : {std::size_t{0}, std::size_t{77}, lonely}) {
        const auto found = rt.run([&] { return examples::breadth_first_search(g, root); });
        const ways_from_root right = by_queue(plain, root);
        for (std::size_t v = 0; v < g.size(); ++v) {
            ASSERT_EQ(found[v].count, right.count[v]) << "vertex " << v << " from " << root;
            ASSERT_EQ(found[v].edges, right.edges[v] < 0 ? 0U : static_cast<std::uint32_t>(right.edges[v]));
        }
    }
}

TEST_P(graph_programs, betweenness) {
    const auto found = rt.run([&] { return examples::betweenness(g, 3); });
    const std::vector<double> right = dependencies(plain, 3);
    for (std::size_t v = 0; v < g.size(); ++v)
        ASSERT_NEAR(found[v], right[v], 1e-9 * (1 + right[v])) << "vertex " << v;
}

TEST_P(graph_programs, pagerank) {
    const auto found = rt.run([&] { return examples::pagerank(g, 7); });
    const std::vector<double> right = ranks(plain, 7);
    for (std::size_t v = 0; v < g.size(); ++v) ASSERT_NEAR(found[v], right[v], 1e-14) << "vertex " << v;
    EXPECT_NEAR(std::accumulate(found.begin(), found.end(), 0.0), 1, 1e-12);
}

TEST_P(graph_programs, components) {
    const auto found = rt.run([&] { return examples::components(g); });
    const std::vector<std::size_t> right = least_connected(plain);
    for (std::size_t v = 0; v < g.size(); ++v) ASSERT_EQ(found[v], right[v]) << "vertex " << v;
}

TEST_P(graph_programs, triangles) {
    const std::uint64_t right = count_triangles(plain);
    ASSERT_GT(right, 0U);
    EXPECT_EQ(rt.run([&] { return examples::triangles(g); }), right);
}

INSTANTIATE_TEST_SUITE_P(
    all, graph_programs,
    testing::Combine(testing::Values(std::uint64_t{1}, std::uint64_t{2}), testing::Bool(),
                     testing::Values("steal", "static:outermost=first", "dynamic:pieces=1,outermost=first"),
                     testing::Values("threads", "model")));

} // namespace
} // namespace weft
