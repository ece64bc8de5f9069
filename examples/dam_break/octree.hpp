// Bodies in the order of a tree that halves space in every direction: a quadtree in a plane, an octree in
// space. (Barnes and Hut 1986; the leaves hold few bodies.)
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace examples {

template <std::size_t D>
using point_of = std::array<double, D>;

template <std::size_t D>
double distance2(const point_of<D>& a, const point_of<D>& b) {
    double sum = 0;
    for (std::size_t axis = 0; axis < D; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
    return sum;
}

// A place as one number whose bits are, in turns, those of its coordinates: bodies with the same first
// level * D bits lie in the same cell of that level.
template <std::size_t D>
class cell_order {
public:
    static constexpr unsigned levels = 20;

    // Coordinates are from 0 to `width`; what is outside is taken for the nearest place inside.
    explicit cell_order(double width) : scale_((1U << levels) / width) {}

    std::uint64_t place(const point_of<D>& at) const {
        std::uint64_t bits = 0;
        for (std::size_t axis = 0; axis < D; ++axis) {
            const double cell = std::clamp(at[axis] * scale_, 0.0, (1U << levels) - 1.0);
            const auto coordinate = static_cast<std::uint64_t>(cell);
            for (unsigned b = 0; b < levels; ++b) bits |= (coordinate >> b & 1) << (b * D + axis);
        }
        return bits;
    }

private:
    double scale_;
};

template <std::size_t D>
class octree {
public:
    struct node {
        std::size_t first, last; // of the bodies
        point_of<D> low, high;   // they are between
        std::vector<std::uint32_t> children{};
        std::size_t bodies() const { return last - first; }
        bool is_leaf() const { return children.empty(); }
    };

    // Of bodies whose places are sorted.
    octree(const std::vector<point_of<D>>& positions, const std::vector<std::uint64_t>& places,
           std::size_t leaf_bodies) {
        add(positions, places, leaf_bodies, 0, places.size(), cell_order<D>::levels);
    }

    const node& root() const { return nodes_.front(); }
    const node& operator[](std::uint32_t i) const { return nodes_[i]; }

    // Calls use(leaf) for the leaves that have bodies no further than `reach` from the box around `at`, in
    // order; some of them may have none.
    template <class Use>
    void near(const node& at, double reach, Use&& use) const {
        near(root(), at, reach * reach, use);
    }

private:
    std::uint32_t add(const std::vector<point_of<D>>& positions, const std::vector<std::uint64_t>& places,
                      std::size_t leaf_bodies, std::size_t first, std::size_t last, unsigned level) {
        const auto index = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({first, last, {}, {}});
        if (last - first > leaf_bodies && level > 0) {
            std::vector<std::uint32_t> children;
            for (std::size_t begin = first; begin < last;) {
                const std::uint64_t cell = places[begin] >> (level - 1) * D;
                const auto* const end =
                    std::partition_point(places.data() + begin, places.data() + last,
                                         [&](std::uint64_t p) { return p >> (level - 1) * D == cell; });
                const auto next = static_cast<std::size_t>(end - places.data());
                children.push_back(add(positions, places, leaf_bodies, begin, next, level - 1));
                begin = next;
            }
            nodes_[index].children = std::move(children);
        }
        node& n = nodes_[index];
        n.low.fill(std::numeric_limits<double>::infinity());
        n.high.fill(-std::numeric_limits<double>::infinity());
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t axis = 0; axis < D; ++axis) {
                n.low[axis] = std::min(n.low[axis], positions[i][axis]);
                n.high[axis] = std::max(n.high[axis], positions[i][axis]);
            }
        }
        return index;
    }

    template <class Use>
    void near(const node& in, const node& at, double reach2, Use& use) const {
        double gap2 = 0;
        for (std::size_t axis = 0; axis < D; ++axis) {
            const double gap = std::max({0.0, in.low[axis] - at.high[axis], at.low[axis] - in.high[axis]});
            gap2 += gap * gap;
        }
        if (gap2 > reach2) return;
        if (in.is_leaf()) return use(in);
        for (std::uint32_t child : in.children) near(nodes_[child], at, reach2, use);
    }

    std::vector<node> nodes_;
};

} // namespace examples
