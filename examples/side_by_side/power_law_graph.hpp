// Programs on a graph whose degrees follow a power law: R-MAT (D. Chakrabarti, Y. Zhan, C. Faloutsos, SDM 2004) with
// the probabilities of Graph500, made symmetric. Blocks of vertices are tasks, or the iterations of a static loop; each
// declares the lists of its vertices and each number of a neighbour that it reads.
#pragma once

#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "static_loop.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double graph_cycles_per_edge = 4;

class power_law_graph {
public:
    using vertex = std::uint32_t;

    // 2^log_vertices vertices, and `degree` edges for each of them before double ones and loops are taken away.
    power_law_graph(int log_vertices, int degree, std::uint64_t seed, bool in_loops = false)
        : in_loops_(in_loops)
        , first_((std::size_t{1} << log_vertices) + 1) {
        const std::size_t n = size();
        std::vector<std::pair<vertex, vertex>> edges;
        for (std::size_t e = 0; e < n * static_cast<std::size_t>(degree); ++e) {
            vertex a = 0, b = 0;
            for (int bit = 0; bit < log_vertices; ++bit) {
                const double r =
                    (random_from_minus_1_to_1(seed, e * 64 + static_cast<std::size_t>(bit)) + 1) / 2;
                a = 2 * a + (r >= 0.76 ? 1U : 0U);
                b = 2 * b + ((r >= 0.57 && r < 0.76) || r >= 0.95 ? 1U : 0U);
            }
            if (a == b) continue;
            edges.emplace_back(a, b);
            edges.emplace_back(b, a);
        }
        std::sort(edges.begin(), edges.end());
        edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
        for (const auto& [a, b] : edges) {
            ++first_[a + 1];
            neighbours_.push_back(b);
        }
        for (std::size_t v = 0; v < n; ++v) first_[v + 1] += first_[v];
        if (in_loops_) add_blocks(0, n);
    }

    // Read from the disk of that name, by the caller.
    void load(std::string_view disk) const {
        weft::transfer(disk, first_.size() * sizeof first_[0] + neighbours_.size() * sizeof neighbours_[0]);
    }

    std::size_t size() const { return first_.size() - 1; }
    std::size_t edges() const { return neighbours_.size(); }
    const vertex* begin(std::size_t v) const { return neighbours_.data() + first_[v]; }
    const vertex* end(std::size_t v) const { return neighbours_.data() + first_[v + 1]; }
    std::size_t degree(std::size_t v) const { return first_[v + 1] - first_[v]; }

    // What a task reads of the graph.
    void touch_lists(std::size_t first, std::size_t last) const {
        weft::touch(first_.data() + first, (last - first + 1) * sizeof first_[0], weft::access::read);
        const std::size_t count = first_[last] - first_[first];
        if (count > 0)
            weft::touch(neighbours_.data() + first_[first], count * sizeof neighbours_[0],
                        weft::access::read);
    }
    std::size_t edges_of(std::size_t first, std::size_t last) const { return first_[last] - first_[first]; }

    // Calls f(first, last) for all blocks.
    template <class F>
    void in_blocks(const F& f) const {
        if (!in_loops_) return divide(0, size(), f);
        share_out(blocks_.size(), 1,
                  [&](std::size_t i, std::size_t) { f(blocks_[i].first, blocks_[i].second); });
    }

private:
    static constexpr std::size_t block_edges = 8192; // about so many

    bool is_block(std::size_t first, std::size_t last) const {
        return last - first <= 1 || edges_of(first, last) + (last - first) <= block_edges;
    }
    // By edges, so that a block with a vertex of many of them has few others.
    std::size_t middle_of(std::size_t first, std::size_t last) const {
        const std::size_t half = first_[first] + edges_of(first, last) / 2;
        const auto middle = static_cast<std::size_t>(
            std::upper_bound(first_.begin() + static_cast<std::ptrdiff_t>(first),
                             first_.begin() + static_cast<std::ptrdiff_t>(last), half) -
            first_.begin());
        return std::clamp(middle, first + 1, last - 1);
    }
    template <class F>
    void divide(std::size_t first, std::size_t last, const F& f) const {
        if (is_block(first, last)) return f(first, last);
        const std::size_t middle = middle_of(first, last);
        weft::join([&] { divide(first, middle, f); }, [&] { divide(middle, last, f); });
    }
    void add_blocks(std::size_t first, std::size_t last) {
        if (is_block(first, last)) return blocks_.emplace_back(first, last), void();
        const std::size_t middle = middle_of(first, last);
        add_blocks(first, middle);
        add_blocks(middle, last);
    }

    bool in_loops_;
    std::vector<std::size_t> first_;
    std::vector<vertex> neighbours_;
    std::vector<std::pair<std::size_t, std::size_t>> blocks_; // of a loop
};

// next[v] becomes of(v), which reads numbers `now` of the neighbours of v: tasks read one array and write another one.
template <class Value, class F>
void pull_step(const power_law_graph& g, const std::vector<Value>& now, std::vector<Value>& next,
               const F& of) {
    g.in_blocks([&](std::size_t first, std::size_t last) {
        g.touch_lists(first, last);
        weft::touch(now.data() + first, (last - first) * sizeof(Value), weft::access::read);
        weft::touch(next.data() + first, (last - first) * sizeof(Value), weft::access::write);
        for (std::size_t v = first; v < last; ++v) {
            for (const auto* u = g.begin(v); u != g.end(v); ++u)
                weft::touch(&now[*u], sizeof(Value), weft::access::read);
            next[v] = of(v);
        }
        spend(g.edges_of(first, last), graph_cycles_per_edge);
    });
}

// So many steps of PageRank with damping 0.85. The ranks add up to 1.
inline std::vector<double> pagerank(const power_law_graph& g, int steps) {
    constexpr double damping = 0.85;
    std::vector<double> now(g.size(), 1 / static_cast<double>(g.size())), next(g.size());
    for (int k = 0; k < steps; ++k) {
        double lost = 0; // of vertices without edges
        for (std::size_t v = 0; v < g.size(); ++v)
            if (g.degree(v) == 0) lost += now[v];
        const double base = (1 - damping + damping * lost) / static_cast<double>(g.size());
        pull_step(g, now, next, [&](std::size_t v) {
            double sum = 0;
            for (const auto* u = g.begin(v); u != g.end(v); ++u)
                sum += now[*u] / static_cast<double>(g.degree(*u));
            return base + damping * sum;
        });
        std::swap(now, next);
    }
    return now;
}

// Of each vertex the least vertex that it is connected with.
inline std::vector<std::uint32_t> components(const power_law_graph& g) {
    std::vector<std::uint32_t> now(g.size()), next(g.size());
    std::iota(now.begin(), now.end(), 0U);
    do {
        pull_step(g, now, next, [&](std::size_t v) {
            std::uint32_t least = now[v];
            for (const auto* u = g.begin(v); u != g.end(v); ++u) least = std::min(least, now[*u]);
            return least;
        });
        std::swap(now, next);
    } while (now != next);
    return now;
}

// Of each vertex the number of edges from `root`, and of shortest ways; 0 ways: it is not connected with it.
struct shortest_ways {
    std::uint32_t edges = 0;
    double count = 0;
    friend bool operator==(const shortest_ways&, const shortest_ways&) = default;
};
inline std::vector<shortest_ways> breadth_first_search(const power_law_graph& g, std::size_t root) {
    std::vector<shortest_ways> now(g.size()), next(g.size());
    now[root].count = 1;
    for (std::uint32_t step = 0;; ++step) {
        pull_step(g, now, next, [&](std::size_t v) {
            if (now[v].count > 0) return now[v];
            shortest_ways w{step + 1};
            for (const auto* u = g.begin(v); u != g.end(v); ++u)
                if (now[*u].edges == step) w.count += now[*u].count;
            return w.count > 0 ? w : shortest_ways{};
        });
        std::swap(now, next);
        if (now == next) return now;
    }
}

// For each vertex the shares of the shortest ways from `root` that lead over it (U. Brandes, 2001), of all ends.
inline std::vector<double> betweenness(const power_law_graph& g, std::size_t root) {
    const auto ways = breadth_first_search(g, root);
    std::uint32_t most = 0;
    for (const shortest_ways& w : ways) most = std::max(most, w.edges);
    std::vector<double> now(g.size()), next(g.size());
    for (std::uint32_t level = most; level-- > 0;) {
        pull_step(g, now, next, [&](std::size_t v) {
            if (ways[v].count == 0 || ways[v].edges != level) return now[v];
            double sum = 0;
            for (const auto* u = g.begin(v); u != g.end(v); ++u)
                if (ways[*u].count > 0 && ways[*u].edges == level + 1)
                    sum += ways[v].count / ways[*u].count * (1 + now[*u]);
            return sum;
        });
        std::swap(now, next);
    }
    return now;
}

// Each once, from its least vertex.
inline std::uint64_t triangles(const power_law_graph& g) {
    std::atomic<std::uint64_t> all{0}; // relaxed: the end of the join orders it
    g.in_blocks([&](std::size_t first, std::size_t last) {
        g.touch_lists(first, last);
        std::uint64_t count = 0;
        std::size_t looked_at = 0;
        for (std::size_t v = first; v < last; ++v)
            for (const auto* u =
                     std::upper_bound(g.begin(v), g.end(v), static_cast<power_law_graph::vertex>(v));
                 u != g.end(v); ++u) {
                const auto* w = std::upper_bound(g.begin(*u), g.end(*u), *u);
                if (w != g.end(*u))
                    weft::touch(w, static_cast<std::size_t>(g.end(*u) - w) * sizeof *w, weft::access::read);
                for (const auto* x = u + 1; x != g.end(v) && w != g.end(*u); ++looked_at) {
                    if (*x < *w)
                        ++x;
                    else if (*w < *x)
                        ++w;
                    else
                        ++count, ++x, ++w;
                }
            }
        spend(looked_at, graph_cycles_per_edge);
        all.fetch_add(count, std::memory_order_relaxed);
    });
    return all.load(std::memory_order_relaxed);
}

} // namespace examples
