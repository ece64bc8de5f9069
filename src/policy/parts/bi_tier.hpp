#pragma once

#include <cstdint>
#include <limits>

/// Where a tree of tasks is cut into subtrees that each fit the last-level cache of a socket.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 3.4.
///
/// A tree with main at level 0 and the root of the recursion at level 1 has degree^(L-1) tasks at level L.
/// The tasks of the boundary level are the leaf inter-socket tasks: what is above and including them is
/// shared out between sockets, what is below them stays on one.
namespace weft::bi_tier {

/// The smallest e with degree^e >= wanted, in integers: no logarithm is rounded. `degree` is at least 2.
constexpr int levels_for(std::uint64_t degree, std::uint64_t wanted) noexcept {
    int e = 0;
    for (std::uint64_t tasks = 1; tasks < wanted; ++e) {
        if (tasks > std::numeric_limits<std::uint64_t>::max() / degree) return e + 1;
        tasks *= degree;
    }
    return e;
}

/// Eq. 3.4: the boundary level of a full tree, the smallest that gives each of `sockets` a subtree, and none
/// of them more than `cache` bytes of `data`. 0 is random stealing: one socket, or no tree (degree below 2).
/// An unknown cache or size of data (0) leaves the other condition.
constexpr int boundary_level(std::uint64_t degree, std::uint64_t sockets, std::uint64_t data,
                             std::uint64_t cache) noexcept {
    if (sockets < 2 || degree < 2) return 0;
    const int for_sockets = levels_for(degree, sockets) + 1;
    if (cache == 0 || data <= cache) return for_sockets;
    const int for_cache = levels_for(degree, data / cache + (data % cache != 0 ? 1 : 0)) + 1;
    return for_sockets > for_cache ? for_sockets : for_cache;
}

/// 3.4.2.3: whether a task whose parent is above the boundary is a leaf inter-socket task, the root of a
/// subtree: its size fits the cache, also if it is as large (as in Eq. 3.2), and it is so small a part of the
/// tree (`width`, of 1) that at least `subtrees` come of it. 0 asks for none: the literal rule. An unknown
/// cache (0) leaves the other condition.
constexpr bool is_subtree(double size, double cache, double width, int subtrees) noexcept {
    constexpr double rounding = 1e-4; // of thirds, and the like
    return (cache <= 0 || size <= cache) && width * subtrees <= 1 + rounding;
}

} // namespace weft::bi_tier
