#pragma once

#include "policy/parts/bi_tier.hpp"
#include "task/task.hpp"

#include <algorithm>
#include <cstdint>

/// Which tasks of a tree are the roots of subtrees (leaf inter-socket tasks), by what the program and its
/// settings say.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 3.4. The
///   equations themselves: bi_tier.hpp.
///
/// If the size of a tree's data is not known, it is taken to be one cache for each subtree that is wanted. It
/// is divided equally at each level.
///
/// Not here: sizes that are measured (subtree_sizes.hpp), and what a policy does with a subtree. Fixed after
/// the policy's attach(); any worker reads.
namespace weft {

struct bi_tier_partition {
    enum class mode : std::uint8_t { fto, gto, profile };

    mode by = mode::fto;
    int boundary = -1; ///< fto: the boundary level; -1: by Eq. 3.4
    int first = 1;     ///< fto: level of the recursion's root, where main is 0
    int degree = 2;    ///< branching of tasks that do not declare it
    int main = 1;      ///< branching of the root, likewise
    double bytes = 0;  ///< all data of the program; 0: as declared
    double cache = 0;  ///< bytes of a socket's last-level cache; 0: unknown
    int subtrees = 0;  ///< gto, profile: at least this many; 0: no minimum
    int sockets = 1;

    static bool is_root(const task& t) noexcept { return t.parent() == nullptr && t.level() == 0; }

    /// The number of children of `parent`: as it declares, as the group of `child` does, or by setting.
    int branching(const task& parent, const task& child) const noexcept {
        if (parent.hint().children > 0) return parent.hint().children;
        if (child.parent_group()->hint().children > 0) return child.parent_group()->hint().children;
        return is_root(parent) ? main : degree;
    }

    /// Eq. 3.4: the boundary level of the tree of which `child`, at level `first` or below, is the first task
    /// that asks.
    std::int16_t boundary_of(const task& child) const noexcept {
        if (boundary > 0) return static_cast<std::int16_t>(boundary);
        const int declared = child.hint().children;
        const auto children = static_cast<std::uint64_t>(declared > 1 ? declared : degree);
        const double data = bytes > 0 ? bytes : static_cast<double>(child.hint().bytes);
        const int level =
            bi_tier::boundary_level(children, static_cast<std::uint64_t>(sockets),
                                    static_cast<std::uint64_t>(data), static_cast<std::uint64_t>(cache));
        return static_cast<std::int16_t>(level + first - 1);
    }

    /// Eq. 3.5: the size of a child's data: as measured, as declared, or an equal part of its parent's.
    double size_of_child(double measured, double declared, double inherited) const noexcept {
        const double size = measured > 0 ? measured : declared > 0 ? declared : inherited;
        return size > 0 ? size : std::max(cache, 1.0) * std::max(subtrees, 1);
    }

    /// A whole tree of that size would be one subtree, on one socket.
    bool is_too_small(double total) const noexcept { return subtrees == 0 && total <= cache; }

    /// 3.4.2.3, for a child of a task above the boundary.
    bool is_subtree(double size, double width) const noexcept {
        return bi_tier::is_subtree(size, cache, width, subtrees);
    }
};

} // namespace weft
