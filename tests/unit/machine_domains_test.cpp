// The three divisions of a machine, on machines where they differ.
#include "machine/domains.hpp"
#include "machine/load.hpp"
#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

std::vector<int> sizes_of(const domains& all) {
    std::vector<int> sizes;
    for (int d = 0; d < all.count(); ++d) sizes.push_back(all.ranks(d).size());
    return sizes;
}

TEST(machine_domains, are_the_same_on_the_machines_of_the_papers) {
    const machine m = load_synthetic("pack:2 [numa] l3:1 core:4 pu:1");
    for (const domain_kind kind :
         {domain_kind::last_level_cache, domain_kind::memory_node, domain_kind::package}) {
        const domains all(m, kind);
        EXPECT_EQ(sizes_of(all), (std::vector{4, 4}));
        EXPECT_EQ(all.of(3), 0);
        EXPECT_EQ(all.of(4), 1);
        EXPECT_EQ(all.others(1), (std::vector{0}));
    }
}

TEST(machine_domains, a_package_may_have_several_last_level_caches) {
    const machine m = load_synthetic("pack:2 [numa] l3:2 core:3 pu:1");
    EXPECT_EQ(sizes_of({m, domain_kind::last_level_cache}), (std::vector{3, 3, 3, 3}));
    EXPECT_EQ(sizes_of({m, domain_kind::memory_node}), (std::vector{6, 6}));
    EXPECT_EQ(sizes_of({m, domain_kind::package}), (std::vector{6, 6}));
    const domains caches(m, domain_kind::last_level_cache);
    EXPECT_EQ(caches.of(4), 1);
    EXPECT_EQ(caches.ranks(2), (rank_range{6, 9}));
    EXPECT_EQ(caches.others(0), (std::vector{1, 2, 3}));
    EXPECT_EQ(caches.others(3), (std::vector{2, 0, 1})); // the one in its package first
}

TEST(machine_domains, a_package_may_have_several_memory_nodes) {
    const machine m = load_synthetic("pack:2 numa:2 l3:1 core:2 pu:1");
    EXPECT_EQ(sizes_of({m, domain_kind::last_level_cache}), (std::vector{2, 2, 2, 2}));
    EXPECT_EQ(sizes_of({m, domain_kind::memory_node}), (std::vector{2, 2, 2, 2}));
    EXPECT_EQ(sizes_of({m, domain_kind::package}), (std::vector{4, 4}));
    EXPECT_EQ(domains(m, domain_kind::package).of(3), 0);
    EXPECT_EQ(domains(m, domain_kind::memory_node).of(3), 1);
}

TEST(machine_domains, a_memory_node_may_lie_in_several_packages) {
    const machine m = load_synthetic("pack:2 l3:1 core:2 pu:1");
    EXPECT_EQ(sizes_of({m, domain_kind::memory_node}), (std::vector{4}));
    EXPECT_EQ(sizes_of({m, domain_kind::package}), (std::vector{2, 2}));
    EXPECT_TRUE(domains(m, domain_kind::memory_node).others(0).empty());
}

TEST(machine_domains, without_a_shared_cache_a_memory_node_within_a_package_stands_for_it) {
    const machine m = load_synthetic("pack:2 numa:2 core:2 pu:1");
    EXPECT_EQ(sizes_of({m, domain_kind::last_level_cache}), (std::vector{2, 2, 2, 2}));
}

TEST(machine_domains, a_memory_node_without_ranks_counts_and_is_nobodys_neighbour) {
    machine_parts parts = load_synthetic("pack:2 [numa] l3:1 core:2 pu:1").parts();
    parts.memory_nodes.push_back({.kind = "hbm"});
    parts.node_distances.clear();
    parts.node_latency_ns.clear();
    parts.node_bandwidth_gbps.clear();
    const machine m(parts);
    const domains nodes(m, domain_kind::memory_node);
    EXPECT_EQ(sizes_of(nodes), (std::vector{2, 2, 0}));
    EXPECT_EQ(nodes.others(0), (std::vector{1}));
    EXPECT_EQ(nodes.others(2), (std::vector{0, 1}));
}

TEST(machine_domains, memory_nodes_are_near_by_their_own_distances) {
    machine_parts parts = load_synthetic("pack:3 [numa] l3:1 core:1 pu:1").parts();
    parts.node_distances = {10, 30, 20, 30, 10, 20, 20, 20, 10};
    const machine m(parts);
    EXPECT_EQ(domains(m, domain_kind::memory_node).others(0), (std::vector{2, 1}));
    EXPECT_EQ(domains(m, domain_kind::package).others(2), (std::vector{0, 1}));
}

} // namespace
} // namespace weft
