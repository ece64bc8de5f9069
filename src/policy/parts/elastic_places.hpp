#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <bit>

/// Which places there are, and which of them a worker belongs to.
///
///   A. Rohlin, H. Fahlgren, M. Pericas: High performance scheduling of mixed-mode DAGs on heterogeneous multicores
///   (XiTAO): the width is a power of two, and the leader is floor(core / width) * width.
///
/// Here the cores are counted within the cluster, so that no place leaves it: where a cluster begins at a multiple of the
/// width, as in the paper, that is the same.
namespace weft {

constexpr int power_of_two_below(int n) noexcept {
    return n < 1 ? 1 : static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
}
constexpr int log2_of_width(int width) noexcept { return std::bit_width(static_cast<unsigned>(width)) - 1; }

/// The place of that width that `w` belongs to. A width that is no power of two is rounded down, and is halved until the
/// place lies in the cluster.
constexpr elastic_place place_around(worker_id w, int width, workers cluster) noexcept {
    for (int wide = power_of_two_below(std::min(width, max_width));; wide /= 2) {
        const worker_id leader = cluster.first + (w - cluster.first) / wide * wide;
        if (wide == 1 || leader + wide <= cluster.last) return {leader, wide};
    }
}

/// Calls each(place) for the places of all widths in a cluster, the narrow ones first.
template <class Each>
constexpr void for_each_place(workers cluster, int widest, Each&& each) {
    for (int width = 1; width <= std::min(widest, cluster.size()); width *= 2)
        for (worker_id leader = cluster.first; leader + width <= cluster.last; leader += width)
            each(elastic_place{leader, width});
}

} // namespace weft
