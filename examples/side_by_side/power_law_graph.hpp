// Programs on a graph whose degrees follow a power law: R-MAT (D. Chakrabarti, Y. Zhan, C. Faloutsos, SDM 2004) with
// the probabilities of Graph500, made symmetric. Blocks of vertices are tasks, or the iterations of a static loop; each
// declares the lists of its vertices and, once, the numbers of their neighbours.
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
        add_blocks(0, n);
    }

    // Adjacent vertices that one task or iteration works on.
    struct block {
        std::size_t number;
        std::size_t first, last;           // vertices [first, last)
        std::size_t first_read, last_read; // of read_: their neighbours
    };

    // Read from the disk of that name, by the caller.
    void load(std::string_view disk) const {
        weft::transfer(disk, first_.size() * sizeof first_[0] + neighbours_.size() * sizeof neighbours_[0]);
    }

    std::size_t size() const { return first_.size() - 1; }
    std::size_t edges() const { return neighbours_.size(); }
    const vertex* begin(std::size_t v) const { return neighbours_.data() + first_[v]; }
    const vertex* end(std::size_t v) const { return neighbours_.data() + first_[v + 1]; }
    std::size_t degree(std::size_t v) const { return first_[v + 1] - first_[v]; }

    // What a block reads of the graph.
    void touch_lists(const block& b) const {
        weft::touch(first_.data() + b.first, (b.last - b.first + 1) * sizeof first_[0], weft::access::read);
        touch_lists_between(b.first, b.last);
    }
    // The lists of its neighbours, without those before it.
    void touch_lists_of_neighbours(const block& b) const {
        for_runs(b, 1, [&](std::size_t first, std::size_t last) {
            if (last > b.first) touch_lists_between(std::max(first, b.first), last);
        });
    }
    // The numbers of its neighbours: each once, since the core has it in its caches for the rest of the block, together with those
    // between numbers that are less than 256 bytes apart.
    template <class Value>
    void touch_numbers_of_neighbours(const block& b, const std::vector<Value>& numbers) const {
        for_runs(b, 256 / sizeof(Value), [&](std::size_t first, std::size_t last) {
            weft::touch(numbers.data() + first, (last - first) * sizeof(Value), weft::access::read);
        });
    }
    std::size_t edges_of(const block& b) const { return first_[b.last] - first_[b.first]; }

    const std::vector<block>& blocks() const { return blocks_; }
    // Calls f(block) for all blocks.
    template <class F>
    void in_blocks(const F& f) const {
        if (!in_loops_) return divide(0, blocks_.size(), f);
        share_out(blocks_.size(), 1, [&](std::size_t i, std::size_t) { f(blocks_[i]); });
    }

private:
    static constexpr std::size_t block_edges = 8192; // about so many

    void touch_lists_between(std::size_t first, std::size_t last) const {
        const std::size_t count = first_[last] - first_[first];
        if (count > 0)
            weft::touch(neighbours_.data() + first_[first], count * sizeof neighbours_[0],
                        weft::access::read);
    }
    // Calls f(first, last) for the neighbours of a block: those less than `gap` apart are in one call.
    template <class F>
    void for_runs(const block& b, std::size_t gap, const F& f) const {
        for (std::size_t i = b.first_read; i < b.last_read;) {
            const std::size_t first = read_[i];
            std::size_t last = first + 1;
            for (++i; i < b.last_read && read_[i] < last + gap; ++i) last = read_[i] + 1;
            f(first, last);
        }
    }

    // Halves by edges, so that a block with a vertex of many of them has few others.
    void add_blocks(std::size_t first, std::size_t last) {
        const std::size_t edges = first_[last] - first_[first];
        if (last - first <= 1 || edges + (last - first) <= block_edges) return add_block(first, last);
        const std::size_t half = first_[first] + edges / 2;
        const auto above = static_cast<std::size_t>(
            std::upper_bound(first_.begin() + static_cast<std::ptrdiff_t>(first),
                             first_.begin() + static_cast<std::ptrdiff_t>(last), half) -
            first_.begin());
        const std::size_t middle = std::clamp(above, first + 1, last - 1);
        add_blocks(first, middle);
        add_blocks(middle, last);
    }
    void add_block(std::size_t first, std::size_t last) {
        const std::size_t first_read = read_.size();
        read_.insert(read_.end(), begin(first), end(last - 1));
        const auto own = read_.begin() + static_cast<std::ptrdiff_t>(first_read);
        std::sort(own, read_.end());
        read_.erase(std::unique(own, read_.end()), read_.end());
        blocks_.push_back({blocks_.size(), first, last, first_read, read_.size()});
    }
    template <class F>
    void divide(std::size_t first, std::size_t last, const F& f) const {
        if (last - first == 1) return f(blocks_[first]);
        const std::size_t middle = first + (last - first) / 2;
        weft::join([&] { divide(first, middle, f); }, [&] { divide(middle, last, f); });
    }

    bool in_loops_;
    std::vector<std::size_t> first_;
    std::vector<vertex> neighbours_;
    std::vector<block> blocks_;
    std::vector<vertex> read_; // of each block its neighbours, each once, in ascending order
};

// next[v] becomes of(v), which reads numbers `now` of the neighbours of v: tasks read one array and write another one.
template <class Value, class F>
void pull_step(const power_law_graph& g, const std::vector<Value>& now, std::vector<Value>& next,
               const F& of) {
    g.in_blocks([&](const power_law_graph::block& b) {
        g.touch_lists(b);
        weft::touch(now.data() + b.first, (b.last - b.first) * sizeof(Value), weft::access::read);
        weft::touch(next.data() + b.first, (b.last - b.first) * sizeof(Value), weft::access::write);
        g.touch_numbers_of_neighbours(b, now);
        for (std::size_t v = b.first; v < b.last; ++v) next[v] = of(v);
        spend(g.edges_of(b), graph_cycles_per_edge);
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
            if (!kernels_compute) return sum;
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

// What a block of vertices has of triangles, and how many neighbours are compared to find them.
struct counted_triangles {
    std::uint64_t found = 0;
    std::size_t looked_at = 0;
};

// Each once, from its least vertex.
inline counted_triangles triangles_in(const power_law_graph& g, const power_law_graph::block& b) {
    counted_triangles count;
    for (std::size_t v = b.first; v < b.last; ++v)
        for (const auto* u = std::upper_bound(g.begin(v), g.end(v), static_cast<power_law_graph::vertex>(v));
             u != g.end(v); ++u) {
            const auto* w = std::upper_bound(g.begin(*u), g.end(*u), *u);
            for (const auto* x = u + 1; x != g.end(v) && w != g.end(*u); ++count.looked_at) {
                if (*x < *w)
                    ++x;
                else if (*w < *x)
                    ++w;
                else
                    ++count.found, ++x, ++w;
            }
        }
    return count;
}

// `of(block)`: triangles_in(), or what it returned before.
template <class Of>
std::uint64_t triangles(const power_law_graph& g, const Of& of) {
    std::atomic<std::uint64_t> all{0}; // relaxed: the end of the join orders it
    g.in_blocks([&](const power_law_graph::block& b) {
        g.touch_lists(b);
        g.touch_lists_of_neighbours(b);
        const counted_triangles count = of(b);
        spend(count.looked_at, graph_cycles_per_edge);
        all.fetch_add(count.found, std::memory_order_relaxed);
    });
    return all.load(std::memory_order_relaxed);
}
inline std::uint64_t triangles(const power_law_graph& g) {
    return triangles(g, [&](const power_law_graph::block& b) { return triangles_in(g, b); });
}

} // namespace examples
