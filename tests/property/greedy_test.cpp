// Greedy schedules of any fork-join tree lie between the bounds, on the model engine.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/fork_join_trees.hpp"
#include "engine/modelled.hpp"

namespace weft::test {
namespace {

/// Of each task, which of the tasks before it is its parent, by remainder, and its cost.
using description = std::vector<std::pair<std::uint8_t, std::uint8_t>>;

fork_join_tree tree_of(const description& tasks) {
    fork_join_tree tree;
    tree.add(0, 1);
    for (const auto& [parent, cost] : tasks) tree.add(parent % tree.nodes.size(), cost);
    return tree;
}

void keeps_the_bounds(const std::string& policy, const description& tasks) {
    const fork_join_tree tree = tree_of(tasks);
    const int workers = *rc::gen::element(1, 2, 3, 4, 8, 16);
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto form = *rc::gen::arbitrary<bool>() ? spawned_by::joins : spawned_by::group;
    RC_CLASSIFY(tree.span() == tree.work(), "chains");
    modelled model(policy, equal_cores(workers), seed);
    const auto took = static_cast<std::uint64_t>(model.run([&] { tree.run(form); }));
    RC_ASSERT(took >= fastest(tree, workers));
    RC_ASSERT(took <= slowest(tree, workers));
}

RC_GTEST_PROP(greedy_bounds, steal, (const description& tasks)) { keeps_the_bounds("steal", tasks); }
RC_GTEST_PROP(greedy_bounds, steal_reported, (const description& tasks)) {
    keeps_the_bounds("steal:zone=reported", tasks);
}
RC_GTEST_PROP(greedy_bounds, near, (const description& tasks)) { keeps_the_bounds("near", tasks); }
RC_GTEST_PROP(greedy_bounds, steal_parent_first, (const description& tasks)) {
    keeps_the_bounds("steal-parent-first", tasks);
}
RC_GTEST_PROP(greedy_bounds, steal_parent_first_oldest, (const description& tasks)) {
    keeps_the_bounds("steal-parent-first:order=fifo", tasks);
}
RC_GTEST_PROP(greedy_bounds, share, (const description& tasks)) { keeps_the_bounds("share", tasks); }
RC_GTEST_PROP(greedy_bounds, share_youngest, (const description& tasks)) {
    keeps_the_bounds("share:order=lifo", tasks);
}

} // namespace
} // namespace weft::test
