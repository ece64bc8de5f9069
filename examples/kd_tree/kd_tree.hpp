// A balanced k-d tree over points in space, and by it the nearest neighbour of each of them.
// (Bentley: Multidimensional binary search trees used for associative searching, CACM 1975.)
//
// The tree is an order of the points: the middle one of a range divides it, by x, y and z in turn, and both
// sides are built in parallel. The middle one is found by a selection that is parallel too as long as the
// range is long, for a serial one at the root would take longer than all else.
#pragma once

#include "select.hpp"

#include "../common/cost.hpp"
#include "../common/hint.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace examples {

inline constexpr std::size_t kd_bucket = 16; // points of a range that is only searched, in no order
inline constexpr std::size_t kd_leaf = 1024; // points of a range that is one task

// A point that a serial build takes through one halving; one that a search measures its distance from.
inline constexpr double kd_cycles_per_halving = 38, kd_cycles_per_distance = 16;

namespace kd {

inline std::size_t next(std::size_t axis) { return (axis + 1) % 3; }

inline void serial_build(point* points, std::size_t n, std::size_t axis) {
    if (n <= kd_bucket) return;
    std::size_t middle = n / 2;
    serial_select(points, n, middle, axis);
    serial_build(points, middle, next(axis));
    serial_build(points + middle + 1, n - middle - 1, next(axis));
}

// The points and as much room.
inline weft::hints build_hint(std::size_t n) {
    return hint(n * static_cast<std::size_t>(std::bit_width(n)), 2 * n * sizeof(point));
}

// BEGIN-EXAMPLE kd_tree
inline void build(point* points, point* spare, std::size_t n, std::size_t axis) {
    if (n <= kd_leaf) {
        weft::touch(points, n * sizeof *points, weft::access::readwrite);
        spend(n * static_cast<std::size_t>(std::bit_width(n / kd_bucket)), kd_cycles_per_halving);
        return serial_build(points, n, axis);
    }
    std::size_t middle = n / 2, after = middle + 1;
    select(points, spare, n, middle, axis);
    weft::join([&] { build(points, spare, middle, next(axis)); },
               [&] { build(points + after, spare + after, n - after, next(axis)); },
               {build_hint(middle), build_hint(n - after)});
}
// END-EXAMPLE kd_tree

// The same by levels, each a loop over its ranges: loop(n, f) calls f(first, last) for parts of [0, n).
template <class Loop>
void build_by_levels(point* points, point* spare, std::size_t n, const Loop& loop) {
    struct range {
        std::size_t first, n;
    };
    std::vector<range> all{{0, n}};
    std::size_t axis = 0;
    // All ranges of a level have the same length, but for one.
    for (; all.front().n > kd_leaf; axis = next(axis)) {
        const auto halve = [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i)
                select(points + all[i].first, spare + all[i].first, all[i].n, all[i].n / 2, axis);
        };
        all.size() == 1 ? halve(0, 1) : loop(all.size(), halve);
        std::vector<range> halves;
        for (const auto [first, count] : all) {
            const std::size_t middle = count / 2;
            halves.push_back({first, middle});
            halves.push_back({first + middle + 1, count - middle - 1});
        }
        all = std::move(halves);
    }
    loop(all.size(), [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i)
            build(points + all[i].first, spare + all[i].first, all[i].n, axis);
    });
}

} // namespace kd

inline double distance2(const point& a, const point& b) {
    double x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return x * x + y * y + z * z;
}

// The nearest point other than `of`, which is one of the tree's own.
struct nearest_point {
    const point* of;
    double distance2 = std::numeric_limits<double>::infinity();
    std::size_t looked_at = 0;

    void look_at(const point& candidate) {
        if (&candidate != of) distance2 = std::min(distance2, examples::distance2(*of, candidate));
        ++looked_at;
    }
};

inline void kd_search(const point* points, std::size_t n, std::size_t axis, nearest_point& best) {
    if (n <= kd_bucket) {
        for (std::size_t i = 0; i < n; ++i) best.look_at(points[i]);
        return;
    }
    std::size_t middle = n / 2, after = middle + 1;
    double side = (*best.of)[axis] - points[middle][axis];
    auto search = [&](bool upper) {
        kd_search(upper ? points + after : points, upper ? n - after : middle, kd::next(axis), best);
    };
    search(side > 0);
    best.look_at(points[middle]);
    if (side * side < best.distance2) search(!(side > 0));
}

class kd_tree {
public:
    // The points end up in the order of the tree.
    kd_tree(point* points, std::size_t n) : points_(points), n_(n) {
        auto spare = std::make_unique_for_overwrite<point[]>(n);
        kd::build(points, spare.get(), n, 0);
    }

    // Built, and searched, in loops: kd::build_by_levels().
    template <class Loop>
    kd_tree(point* points, std::size_t n, const Loop& loop) : points_(points)
                                                            , n_(n) {
        auto spare = std::make_unique_for_overwrite<point[]>(n);
        kd::build_by_levels(points, spare.get(), n, loop);
    }
    // `known`: how many points each leaf has looked at in an earlier search of this tree, which is then not searched again. Empty
    // or null: not known, and stored there.
    template <class Loop>
    void all_nearest(double* distances2, const Loop& loop, std::vector<std::size_t>* known = nullptr) const {
        const std::size_t leaves = (n_ + kd_leaf - 1) / kd_leaf;
        std::vector<std::size_t> counts;
        if (!known) known = &counts;
        const bool is_known = !known->empty();
        known->resize(leaves);
        loop(leaves, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                const std::size_t begin = i * kd_leaf, end = std::min(n_, begin + kd_leaf);
                touch_leaf(distances2, begin, end);
                if (!is_known) (*known)[i] = search_leaf(distances2, begin, end);
                spend((*known)[i], kd_cycles_per_distance);
            }
        });
    }

    nearest_point nearest_to(std::size_t i) const {
        nearest_point best{points_ + i};
        kd_search(points_, n_, 0, best);
        return best;
    }

    // For each point the square of the distance to its nearest neighbour. Points that follow each other lie
    // close together, and so do what their searches look at; what is not in the task's own range is not
    // declared.
    void all_nearest(double* distances2) const { all_nearest(distances2, 0, n_); }

private:
    void all_nearest(double* distances2, std::size_t first, std::size_t last) const {
        if (last - first > kd_leaf) {
            std::size_t middle = first + (last - first) / 2;
            auto of = [](std::size_t n) { return hint(n, n * (sizeof(point) + sizeof(double))); };
            weft::join([&] { all_nearest(distances2, first, middle); },
                       [&] { all_nearest(distances2, middle, last); },
                       {of(middle - first), of(last - middle)});
            return;
        }
        touch_leaf(distances2, first, last);
        spend(search_leaf(distances2, first, last), kd_cycles_per_distance); // known only now
    }
    void touch_leaf(double* distances2, std::size_t first, std::size_t last) const {
        weft::touch(points_ + first, (last - first) * sizeof *points_, weft::access::read);
        weft::touch(distances2 + first, (last - first) * sizeof *distances2, weft::access::write);
    }
    // Returns how many points it has looked at.
    std::size_t search_leaf(double* distances2, std::size_t first, std::size_t last) const {
        std::size_t looked_at = 0;
        for (std::size_t i = first; i < last; ++i) {
            const nearest_point best = nearest_to(i);
            distances2[i] = best.distance2;
            looked_at += best.looked_at;
        }
        return looked_at;
    }

    const point* points_;
    std::size_t n_;
};

inline constexpr double make_cycles_per_point = 11;

// Uniformly in the unit cube.
inline void make_points(point* points, std::size_t n, std::uint64_t seed) {
    auto block = [&](std::size_t b) {
        std::size_t first = b * point_block, last = std::min(n, first + point_block);
        weft::touch(points + first, (last - first) * sizeof *points, weft::access::write);
        spend(last - first, make_cycles_per_point);
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t axis = 0; axis < 3; ++axis) {
                points[i][axis] = static_cast<double>(random_at(seed, 3 * i + axis) >> 11) * 0x1p-53;
            }
        }
    };
    weft::parallel_for(std::size_t{0}, (n + point_block - 1) / point_block, block, {.grain = 1});
}

inline double nearest_by_brute_force(const point* points, std::size_t n, std::size_t i) {
    nearest_point best{points + i};
    for (std::size_t j = 0; j < n; ++j) best.look_at(points[j]);
    return best.distance2;
}

} // namespace examples
