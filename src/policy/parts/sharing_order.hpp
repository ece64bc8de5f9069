#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// An order of independent tasks in which those that share data come close to each other.
///
///   R. M. Yoo, C. J. Hughes, C. Kim, Y.-K. Chen, C. Kozyrakis: Locality-aware task management for
///   unstructured parallelism. SPAA 2013; as told by Q. Chen, M. Guo: Task Scheduling for Multi-core and
///   Parallel Architectures. Springer 2017, 4.3.7.
///
/// Two tasks share the cache lines that both touch. In the graph of sharing, a vertex weighs the work of a
/// task, and an edge the shared lines. METIS divides it into groups of equal work that share as little as
/// possible, each of which fits a cache; then it divides each group for the next smaller cache. Groups, and
/// the tasks of the innermost ones, are in the order in which they enter a maximum spanning tree by Prim's
/// algorithm.
///
/// Where the source is silent: the number of groups is the size of what all tasks touch over that of the
/// cache, rounded up, and a group that does not fit is divided again. The tree begins at the first vertex,
/// and among equal edges the one to the first vertex goes first.
namespace weft {

struct line_range { ///< half-open
    std::uint64_t first = 0, last = 0;
};

struct profiled_task {
    std::uint64_t id = 0;
    double work = 0;
    std::vector<line_range> lines{}; ///< read or written
};

/// How many lines each pair of tasks shares. Each edge is listed at both of its ends.
struct sharing_graph {
    explicit sharing_graph(std::span<const profiled_task> tasks);

    struct edge {
        std::size_t to;
        std::uint64_t lines;
    };
    std::vector<std::vector<edge>> edges;
};

/// The order in which the vertices enter the tree.
std::vector<std::size_t> spanning_tree_order(const std::vector<std::vector<sharing_graph::edge>>& edges);

/// Lines that the tasks touch, each counted once.
std::uint64_t working_set(std::span<const profiled_task> tasks, std::span<const std::size_t> which);

struct ordered_task {
    std::size_t task;
    int outer, inner; ///< numbers of its groups of the largest and of the second cache, in their order
};

/// `cache_lines`: of the caches, the largest first.
std::vector<ordered_task> order_by_sharing(std::span<const profiled_task> tasks,
                                           std::span<const std::uint64_t> cache_lines);

} // namespace weft
