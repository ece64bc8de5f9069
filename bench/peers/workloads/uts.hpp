// The unbalanced tree T1, which cannot be known before it is walked; the children of a node are halved by forks.
#pragma once

#include "needs.hpp"

#include <uts/uts.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace peers {

struct uts {
    static constexpr std::string_view name = "uts", needs = "forks";
    static constexpr int size = 10, warm = 6; // levels

    explicit uts(int given) { tree.max_depth = static_cast<unsigned>(given); }

    template <forks Strand>
    static examples::uts_totals below(Strand here, const examples::uts_tree& tree,
                                      const examples::uts_node& node) {
        const std::uint32_t children = node.children(tree);
        if (children == 0) return {1, 1, node.depth()};
        return examples::uts_totals{1, 0, node.depth()} + children_of(here, tree, node, 0, children);
    }

    template <forks Strand>
    static examples::uts_totals children_of(Strand here, const examples::uts_tree& tree,
                                            const examples::uts_node& parent, std::uint32_t first,
                                            std::uint32_t last) {
        if (last - first == 1) return below(here, tree, parent.child(first));
        const std::uint32_t middle = first + (last - first) / 2;
        auto [a, b] =
            here.fork([&, first, middle](Strand s) { return children_of(s, tree, parent, first, middle); },
                      [&, middle, last](Strand s) { return children_of(s, tree, parent, middle, last); });
        return a + b;
    }

    template <forks Strand>
    void run(Strand here) {
        answer = below(here, tree, examples::uts_node::root(tree.seed));
    }
    bool is_right() const {
        return tree == examples::uts_t1
                   ? answer == examples::uts_t1_totals
                   : answer == examples::uts_serial(tree, examples::uts_node::root(tree.seed));
    }

    examples::uts_tree tree = examples::uts_t1;
    examples::uts_totals answer{};
};

/// The same tree, with a group in each node and one of its children for each child of the node.
struct uts_groups : uts {
    static constexpr std::string_view name = "uts_groups", needs = "task groups";
    using uts::uts;

    template <groups Strand>
    static examples::uts_totals below(Strand, const examples::uts_tree& tree,
                                      const examples::uts_node& node) {
        examples::uts_totals found{1, 0, node.depth()};
        const std::uint32_t count = node.children(tree);
        if (count == 0) return {1, 1, node.depth()};
        room below_children;
        typename Strand::group children;
        for (std::uint32_t i = 0; i < count; ++i)
            children.run([&tree, &node, i, to = &below_children.found[i]](Strand s) {
                std::construct_at(to, below(s, tree, node.child(i)));
            });
        children.wait();
        for (std::uint32_t i = 0; i < count; ++i) found = found + below_children.found[i];
        return found;
    }

    template <groups Strand>
    void run(Strand here) {
        answer = below(here, tree, examples::uts_node::root(tree.seed));
    }

private:
    static constexpr std::size_t most_children = 100; ///< of a node of any such tree
    /// For those of one node; the others are not written, which would take longer than the rest.
    union room {
        room() {} // NOLINT: not "= default", which would be deleted
        examples::uts_totals found[most_children];
    };
};

} // namespace peers
