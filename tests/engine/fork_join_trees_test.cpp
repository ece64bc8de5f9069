// Fork-join trees in virtual time where only the program takes time: what greedy schedules promise.
// One thread runs the model, so ThreadSanitizer has nothing to find.
// ctest: labels=not_tsan,not_asan
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/fork_join_trees.hpp"
#include "engine/modelled.hpp"

namespace weft {
namespace {

using namespace test;

/// No worker is idle while a task is ready.
const std::vector<std::string> greedy = {
    "steal", "steal:zone=reported", "near", "steal-parent-first", "steal-parent-first:order=fifo",
    "share", "share:order=lifo"};

constexpr spawned_by forms[] = {spawned_by::group, spawned_by::joins};

/// Under each greedy policy, in each form.
void expect_bounds(const fork_join_tree& tree, const machine& on, std::uint64_t seed) {
    for (const auto& policy : greedy)
        for (const spawned_by form : forms) {
            const auto took =
                static_cast<std::uint64_t>(modelled(policy, on, seed).run([&] { tree.run(form); }));
            const auto which = policy + (form == spawned_by::joins ? ", joins, " : ", groups, ") +
                               std::to_string(on.size()) + " workers, seed " + std::to_string(seed);
            EXPECT_GE(took, fastest(tree, on.size())) << which;
            EXPECT_LE(took, slowest(tree, on.size())) << which;
        }
}

TEST(fork_join_trees, the_tree_of_bi_tier_stealing) {
    const fork_join_tree tree = bi_tier_tree();
    EXPECT_EQ(tree.nodes.size(), 128u);
    EXPECT_EQ(tree.work(), 64u * 48 + 64);
    EXPECT_EQ(tree.span(), 48u + 7);
    EXPECT_EQ(fastest(tree, 16), 196u);
    EXPECT_EQ(slowest(tree, 16), 247u);
}

TEST(fork_join_trees, one_worker_takes_the_work) {
    const fork_join_tree tree = bi_tier_tree();
    expect_bounds(tree, equal_cores(1), 1); // which are the same
    EXPECT_EQ(fastest(tree, 1), slowest(tree, 1));
}

// Level by level that is 8 + 4 * 48: the main task and levels 1 to 5 take a step each, level 6 takes two, and
// each worker has four leaves. A depth-first schedule ends at the same time, as recorded: 196 is the least.
TEST(fork_join_trees, greedy_on_four_sockets) {
    const fork_join_tree tree = bi_tier_tree();
    const machine four_sockets = cores{.packages = 4, .cores_per_domain = 4}.build();
    for (const auto& policy : greedy)
        for (const spawned_by form : forms)
            for (std::uint64_t seed = 0; seed < 4; ++seed) {
                modelled model(policy, four_sockets, seed);
                EXPECT_EQ(model.run([&] { tree.run(form); }), 200) << policy << ", seed " << seed;
            }
}

TEST(fork_join_trees, serial_is_not_greedy) {
    const fork_join_tree tree = bi_tier_tree();
    EXPECT_EQ(modelled("serial", equal_cores(4)).run([&] { tree.run(spawned_by::group); }), 3136);
}

TEST(fork_join_trees, greedy_on_irregular_trees) {
    for (std::uint64_t seed = 0; seed < 25; ++seed)
        for (const int workers : {1, 2, 3, 4, 8, 16})
            expect_bounds(irregular_tree(seed), equal_cores(workers), seed);
}

} // namespace
} // namespace weft
