// Random graphs of kernels, by levels.
//
// (H. Topcuoglu, S. Hariri, M.-Y. Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing.
// IEEE TPDS 13(3), 2002, 5.1: the height of a graph follows from its number of tasks and its shape, and the widths of its levels
// are drawn uniformly around their mean. Here the shape is given as nodes / height, which is the degree of parallelism of
// A. Rohlin, H. Fahlgren, M. Pericas: High performance scheduling of mixed-mode DAGs on heterogeneous multicores, 2018.)
//
// Each node but those of the first level waits for a node of the level before, so the longest path has one node a level.
#pragma once

#include "../common/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace examples {

enum class kernel_kind : int { matmul, sort, copy };
inline constexpr int kernel_kinds = 3;
inline constexpr const char* kernel_names[kernel_kinds] = {"matmul", "sort", "copy"};

struct dag_node {
    kernel_kind kind{};
    std::size_t buffer = 0; // of those of its kernel
    std::vector<std::size_t> after;
};

struct dag {
    std::vector<dag_node> nodes; // in topological order
    std::array<std::size_t, kernel_kinds> buffers{};
    std::size_t height = 0;
    double parallelism() const { return static_cast<double>(nodes.size()) / static_cast<double>(height); }
};

// A node uses a buffer whose last user comes before it in any schedule, if there is one, so data go along the edges where
// they can, and no two nodes that may run at the same time have one buffer.
inline void give_buffers(dag& d) {
    const std::size_t n = d.nodes.size(), words = (n + 63) / 64;
    std::vector<std::uint64_t> before(n * words);
    std::array<std::vector<std::size_t>, kernel_kinds> last_users;
    for (std::size_t i = 0; i < n; ++i) {
        dag_node& node = d.nodes[i];
        std::uint64_t* const mine = &before[i * words];
        for (const std::size_t p : node.after) {
            for (std::size_t k = 0; k < words; ++k) mine[k] |= before[p * words + k];
            mine[p / 64] |= std::uint64_t{1} << p % 64;
        }
        auto& users = last_users[static_cast<std::size_t>(node.kind)];
        std::size_t best = users.size(); // the one that was used last
        for (std::size_t b = 0; b < users.size(); ++b)
            if ((mine[users[b] / 64] >> users[b] % 64 & 1) != 0 &&
                (best == users.size() || users[b] > users[best]))
                best = b;
        if (best == users.size()) users.push_back(i);
        users[best] = i;
        node.buffer = best;
    }
    for (int k = 0; k < kernel_kinds; ++k)
        d.buffers[static_cast<std::size_t>(k)] = last_users[static_cast<std::size_t>(k)].size();
}

// Equal numbers of all kernels in random order; `degree`: tasks that a node waits for, at most.
inline dag random_dag(std::size_t nodes, double parallelism, std::size_t degree, std::uint64_t seed) {
    std::uint64_t drawn = 0;
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random_at(seed, drawn++) % n); };
    dag d;
    d.height = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::lround(static_cast<double>(nodes) / parallelism)), 1, nodes);
    // Level widths: one node each, and the others thrown in proportion to a weight that is drawn for each level.
    std::vector<std::size_t> width(d.height, 1);
    std::vector<double> sums(d.height);
    double all = 0;
    for (auto& s : sums) s = all += static_cast<double>(below(1000) + 1);
    for (std::size_t i = d.height; i < nodes; ++i) {
        const double at =
            all * static_cast<double>(below(std::size_t{1} << 30)) / static_cast<double>(1U << 30U);
        ++width[static_cast<std::size_t>(std::ranges::upper_bound(sums, at) - sums.begin())];
    }
    d.nodes.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) d.nodes[i].kind = static_cast<kernel_kind>(i % kernel_kinds);
    for (std::size_t i = nodes; i > 1; --i) std::swap(d.nodes[i - 1].kind, d.nodes[below(i)].kind);
    std::size_t before = 0, first = 0; // first nodes of the level before, and of this one
    for (std::size_t level = 0; level < d.height; before = first, first += width[level], ++level) {
        if (level == 0) continue;
        for (std::size_t i = first; i < first + width[level]; ++i) {
            auto& after = d.nodes[i].after;
            after.push_back(before + below(first - before));
            for (std::size_t more = below(degree); more > 0; --more) {
                const std::size_t p = before + below(first - before);
                if (std::ranges::find(after, p) == after.end()) after.push_back(p);
            }
        }
    }
    give_buffers(d);
    return d;
}

// Chains of one kernel: the profile of a kernel, before graphs are judged.
inline dag chains_of(kernel_kind kind, std::size_t nodes, std::size_t chains) {
    dag d;
    d.nodes.resize(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
        d.nodes[i].kind = kind;
        if (i >= chains) d.nodes[i].after.push_back(i - chains);
    }
    d.height = (nodes + chains - 1) / chains;
    give_buffers(d);
    return d;
}

} // namespace examples
