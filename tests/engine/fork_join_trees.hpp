#pragma once

#include <weft/declare.hpp>
#include <weft/join.hpp>
#include <weft/task_group.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

/// Trees of tasks with fixed costs: a task pays its own cost, then spawns its children and waits for them.
namespace weft::test {

enum class spawned_by : std::uint8_t { group, joins };

/// Tasks by number; a child's is higher than its parent's, and task 0 is the main one.
struct fork_join_tree {
    struct node {
        std::uint64_t cost = 0;
        std::vector<std::size_t> children{};
    };
    std::vector<node> nodes{};

    /// Returns its number. The first one has no parent: the argument is ignored for it.
    std::size_t add(std::size_t parent, std::uint64_t cost) {
        const std::size_t number = nodes.size();
        nodes.push_back({cost});
        if (number != 0) nodes[parent].children.push_back(number);
        return number;
    }

    std::uint64_t work() const { ///< T_1
        std::uint64_t sum = 0;
        for (const node& n : nodes) sum += n.cost;
        return sum;
    }

    std::uint64_t span() const { ///< T_inf
        std::vector<std::uint64_t> below(nodes.size());
        for (std::size_t i = nodes.size(); i-- > 0;) {
            for (const std::size_t c : nodes[i].children) below[i] = std::max(below[i], below[c]);
            below[i] += nodes[i].cost;
        }
        return below.front();
    }

    /// Runs it in the calling task. The children form one group, or each is joined with all that follow it.
    void run(spawned_by how, std::size_t at = 0) const {
        cost(nodes[at].cost);
        if (how == spawned_by::joins) return join_children(at, 0);
        task_group g;
        for (const std::size_t c : nodes[at].children) g.run([this, c] { run(spawned_by::group, c); });
        g.wait();
    }

private:
    void join_children(std::size_t of, std::size_t from) const {
        const auto& children = nodes[of].children;
        if (from == children.size()) return;
        const auto child = [=, this] { run(spawned_by::joins, children[from]); };
        if (from + 1 == children.size()) return child();
        join(child, [=, this] { join_children(of, from + 1); });
    }
};

inline std::string to_string(const fork_join_tree& tree) {
    std::string text;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
        text += std::to_string(i) + ": cost " + std::to_string(tree.nodes[i].cost) + ", children";
        for (const std::size_t c : tree.nodes[i].children) text += " " + std::to_string(c);
        text += "\n";
    }
    return text;
}

/// A main task with a full binary tree of so many levels below it.
inline fork_join_tree binary_tree(int levels, std::uint64_t leaf_cost, std::uint64_t inner_cost) {
    fork_join_tree tree;
    std::vector<std::size_t> level{tree.add(0, inner_cost)};
    for (int i = 1; i <= levels; ++i) {
        std::vector<std::size_t> next;
        for (const std::size_t parent : level)
            for (int child = 0; child < (i == 1 ? 1 : 2); ++child)
                next.push_back(tree.add(parent, i == levels ? leaf_cost : inner_cost));
        level = std::move(next);
    }
    return tree;
}

/// The tree on which bi-tier stealing (Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
/// Architectures. Springer 2017, 3.3.2) was simulated: 128 tasks, levels 1 to 7.
inline fork_join_tree bi_tier_tree() { return binary_tree(7, 48, 1); }

/// Degrees, depths and costs by seed: some are bushy, some are nearly chains; costs are all alike, uniform,
/// or a few large among many small.
inline fork_join_tree irregular_tree(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return random() % n; };
    const std::size_t size = 1 + below(200);
    const std::uint64_t degree = 1 + below(6), reach = 1 + below(40), distribution = below(3);
    const auto draw_cost = [&]() -> std::uint64_t {
        switch (distribution) {
        case 0: return 10;
        case 1: return below(1000);
        default: return below(20) == 0 ? 10'000 : 1 + below(10);
        }
    };
    fork_join_tree tree;
    tree.add(0, draw_cost());
    std::vector<std::size_t> open{0}; // tasks that may have more children, youngest last
    while (tree.nodes.size() < size) {
        const std::size_t at = open.size() - 1 - below(std::min<std::uint64_t>(open.size(), reach));
        const std::size_t parent = open[at];
        open.push_back(tree.add(parent, draw_cost()));
        if (tree.nodes[parent].children.size() == degree) open.erase(open.begin() + static_cast<long>(at));
    }
    return tree;
}

/// The lower bound of every schedule on `workers` equal workers.
inline std::uint64_t fastest(const fork_join_tree& tree, int workers) {
    const auto p = static_cast<std::uint64_t>(workers);
    return std::max((tree.work() + p - 1) / p, tree.span());
}

/// No greedy schedule is slower: R. L. Graham: Bounds on multiprocessing timing anomalies. SIAM J. Appl.
/// Math. 17(2), 1969. At any moment all workers are busy or the longest remaining path gets shorter.
inline std::uint64_t slowest(const fork_join_tree& tree, int workers) {
    const auto p = static_cast<std::uint64_t>(workers);
    return (tree.work() + (p - 1) * tree.span()) / p;
}

} // namespace weft::test
