// Unbalanced Tree Search: walks a tree that cannot be known before it is walked.
//
// The state of a node is a SHA-1 digest of its parent's state and its own index, and says how many children
// the node has. (Olivier, Huan, Liu, Prins, Dinan, Sadayappan, Tseng: UTS, an unbalanced tree search
// benchmark, LCPC 2006.) These are the geometric trees of fixed shape; T1 is the standard small one.
#pragma once

#include <weft/weft.hpp>

#include <nettle/sha1.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace examples {

struct uts_tree {
    double branching = 4; // expected children of a node above max_depth
    unsigned max_depth = 10;
    std::uint32_t seed = 19;
    bool operator==(const uts_tree&) const = default;
};

struct uts_totals {
    std::uint64_t nodes = 0, leaves = 0;
    unsigned depth = 0;
    bool operator==(const uts_totals&) const = default;

    friend uts_totals operator+(const uts_totals& a, const uts_totals& b) {
        return {a.nodes + b.nodes, a.leaves + b.leaves, std::max(a.depth, b.depth)};
    }
};

inline constexpr uts_tree uts_t1{};
inline constexpr uts_totals uts_t1_totals{4130071, 3305118, 10};

class uts_node {
public:
    static uts_node root(std::uint32_t seed) {
        std::array<std::uint8_t, 20> input{};
        store(seed, input.data() + 16);
        uts_node node;
        sha1_ctx hash;
        sha1_init(&hash);
        sha1_update(&hash, input.size(), input.data());
        sha1_digest(&hash, node.state_.size(), node.state_.data());
        return node;
    }

    uts_node child(std::uint32_t index) const {
        std::array<std::uint8_t, 4> suffix;
        store(index, suffix.data());
        uts_node node;
        node.depth_ = depth_ + 1;
        sha1_ctx hash;
        sha1_init(&hash);
        sha1_update(&hash, state_.size(), state_.data());
        sha1_update(&hash, suffix.size(), suffix.data());
        sha1_digest(&hash, node.state_.size(), node.state_.data());
        return node;
    }

    // Geometrically distributed with the mean `branching`, at most 100, and none at max_depth.
    std::uint32_t children(const uts_tree& tree) const {
        if (depth_ >= tree.max_depth) return 0;
        double p = 1 / (1 + tree.branching);
        double u = static_cast<double>(random()) / 2147483648.0;
        return static_cast<std::uint32_t>(std::min(100.0, std::floor(std::log(1 - u) / std::log(1 - p))));
    }

    unsigned depth() const { return depth_; }

private:
    static void store(std::uint32_t value, std::uint8_t* big_endian) {
        for (int i = 0; i < 4; ++i) big_endian[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
    }
    // 31 bits, from the end of the state.
    std::uint32_t random() const {
        std::uint32_t value = 0;
        for (std::size_t i = 16; i < 20; ++i) value = value << 8 | state_[i];
        return value & 0x7fffffff;
    }

    std::array<std::uint8_t, 20> state_;
    unsigned depth_ = 0;
};

// Mostly its SHA-1 digest.
inline constexpr std::uint64_t uts_cycles_per_node = 220;

// BEGIN-EXAMPLE uts
inline uts_totals uts_search(weft::context here, const uts_tree& tree, const uts_node& node);

// The subtrees of children [first, last), last > first: of the first one, and of the others.
inline uts_totals uts_search(weft::context here, const uts_tree& tree, const uts_node& parent,
                             std::uint32_t first, std::uint32_t last) {
    if (first + 1 == last) return uts_search(here, tree, parent.child(first));
    auto [one, others] = weft::join(
        here, [&, first](weft::context child) { return uts_search(child, tree, parent.child(first)); },
        [&, first, last](weft::context child) { return uts_search(child, tree, parent, first + 1, last); });
    return one + others;
}

inline uts_totals uts_search(weft::context here, const uts_tree& tree, const uts_node& node) {
    weft::cost(uts_cycles_per_node);
    std::uint32_t children = node.children(tree);
    if (children == 0) return {1, 1, node.depth()};
    return uts_totals{1, 0, node.depth()} + uts_search(here, tree, node, 0, children);
}
// END-EXAMPLE uts

inline uts_totals uts_serial(const uts_tree& tree, const uts_node& node) {
    std::uint32_t children = node.children(tree);
    uts_totals totals{1, children == 0 ? 1U : 0U, node.depth()};
    for (std::uint32_t i = 0; i < children; ++i) totals = totals + uts_serial(tree, node.child(i));
    return totals;
}

} // namespace examples
