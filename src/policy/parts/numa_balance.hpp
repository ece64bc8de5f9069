#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace weft {

/// What a core's reads cost on another memory node, relative to its own node: F(i, j) = L(i, j) / L(i, i).
struct numa_factors {
    int nodes = 1;
    std::vector<double> of{1.0}; ///< [from the cores of][to the memory of]

    double operator()(int from, int to) const noexcept {
        return of[static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes) +
                  static_cast<std::size_t>(to)];
    }
};

/// Memory that numa_balance() works in. The caller allocates it beforehand, since hooks do not allocate.
struct numa_scratch {
    std::vector<std::uint32_t> order; ///< one for each task
    std::vector<double> on_core;      ///< load put there so far
    std::vector<double> messages;     ///< of one task, to the tasks of each node
};

/// List scheduling: the heaviest task goes to the core of the smallest
///
///     load(p) + alpha (sum over nodes j other than p's of messages(t, j) F(node(p), j)
///                      - messages(t, node(p)))
///
/// `core` has the old core of each task, and gets the new one. A partner without a new core counts on its old
/// one. Among equal tasks the first goes first; among equal cores the first is taken. `partners(t, f)` calls
/// f(other, messages) for each task that t exchanges messages with.
template <class Partners>
void numa_balance(std::span<const double> load, std::span<int> core, std::span<const int> node_of_core,
                  const numa_factors& factor, double alpha, numa_scratch& room, Partners&& partners) {
    const auto at = [](auto i) { return static_cast<std::size_t>(i); };
    const std::span order(room.order.data(), load.size());
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return load[a] != load[b] ? load[a] > load[b] : a < b;
    });
    std::fill(room.on_core.begin(), room.on_core.end(), 0.0);
    for (const std::uint32_t t : order) {
        std::fill(room.messages.begin(), room.messages.end(), 0.0);
        partners(t, [&](std::uint32_t other, double count) {
            room.messages[at(node_of_core[at(core[other])])] += count;
        });
        std::size_t best = 0;
        double least = 0;
        for (std::size_t p = 0; p < node_of_core.size(); ++p) {
            const int node = node_of_core[p];
            double cost = -room.messages[at(node)];
            for (int j = 0; j < factor.nodes; ++j)
                if (j != node) cost += room.messages[at(j)] * factor(node, j);
            cost = room.on_core[p] + alpha * cost;
            if (p == 0 || cost < least) {
                best = p;
                least = cost;
            }
        }
        core[t] = static_cast<int>(best);
        room.on_core[best] += load[t];
    }
}

} // namespace weft
