// Which worker is in which cluster, and the draws among them.
#include "policy/fake_context.hpp"
#include "policy/parts/clusters.hpp"

#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace weft {
namespace {

/// Four packages of two cores. Workers 0, 2 and 4 are in the first, 1 and 3 in the second, 5 in the last.
class nodes_of_clusters : public testing::Test {
protected:
    nodes_of_clusters() {
        context.cores = {0, 2, 1, 3, 0, 6};
        nodes.attach(on, context);
    }
    /// What `draw` gives for the draws 0, 1, ... below `count`.
    template <class Draw>
    std::vector<int> drawn(std::uint32_t count, const Draw& draw) {
        std::vector<int> got;
        for (std::uint32_t i = 0; i < count; ++i) {
            context.draws = {i};
            got.push_back(draw());
        }
        return got;
    }

    const machine on = load_synthetic("pack:4 [numa] l3:1 core:2 pu:1");
    test::fake_context context{6};
    clusters nodes;
};

TEST_F(nodes_of_clusters, are_the_workers_of_a_package_in_rank_order) {
    EXPECT_EQ(nodes.count(), 4);
    EXPECT_TRUE(nodes.several());
    EXPECT_EQ(nodes.members(0), (std::vector{0, 2, 4}));
    EXPECT_EQ(nodes.members(1), (std::vector{1, 3}));
    EXPECT_TRUE(nodes.members(2).empty());
    EXPECT_EQ(nodes.members(3), (std::vector{5}));
    EXPECT_EQ(nodes.head(1), 1);
    std::vector<int> cluster, index;
    for (worker_id w = 0; w < 6; ++w) {
        cluster.push_back(nodes.of(w));
        index.push_back(nodes.index_in_cluster(w));
    }
    EXPECT_EQ(cluster, (std::vector{0, 1, 0, 1, 0, 3}));
    EXPECT_EQ(index, (std::vector{0, 0, 1, 1, 2, 0}));
}

TEST_F(nodes_of_clusters, near_are_the_others_of_the_cluster) {
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_near(0); }), (std::vector{2, 4}));
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_near(2); }), (std::vector{0, 4}));
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_near(4); }), (std::vector{0, 2}));
    EXPECT_EQ(drawn(1, [&] { return nodes.draw_near(3); }), (std::vector{1}));
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{2, 2, 2, 2, 2, 2, 1}));
    EXPECT_EQ(nodes.draw_near(5), -1);
    EXPECT_EQ(context.bounds.size(), 7U) << "drawn where there is no choice";
}

TEST_F(nodes_of_clusters, clusters_without_workers_are_not_drawn) {
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_cluster(0); }), (std::vector{1, 3}));
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_cluster(1); }), (std::vector{0, 3}));
    EXPECT_EQ(drawn(2, [&] { return nodes.draw_cluster(5); }), (std::vector{0, 1}));
    EXPECT_EQ(context.bounds, std::vector<std::uint32_t>(6, 2));
}

TEST_F(nodes_of_clusters, far_is_a_node_of_another_cluster) {
    context.draws = {0, 2};
    EXPECT_EQ(nodes.draw_far(5), 4);
    context.draws = {1, 1};
    EXPECT_EQ(nodes.draw_far(5), 3);
    EXPECT_EQ(context.bounds, (std::vector<std::uint32_t>{2, 3, 2, 2}));
}

TEST(one_cluster, has_nothing_far) {
    test::fake_context context(2);
    clusters nodes;
    nodes.attach(load_synthetic("pack:2 [numa] l3:1 core:2 pu:1"), context);
    EXPECT_EQ(nodes.count(), 2);
    EXPECT_FALSE(nodes.several());
    EXPECT_EQ(nodes.draw_cluster(0), -1);
    EXPECT_EQ(nodes.draw_far(1), -1);
    EXPECT_TRUE(context.bounds.empty());
}

} // namespace
} // namespace weft
