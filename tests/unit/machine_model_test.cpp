#include "machine/describe.hpp"
#include "machine/load.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <sstream>
#include <string>

namespace {

using weft::machine;
using weft::machine_parts;

struct breakage {
    const char* phrase;
    std::function<void(machine_parts&)> apply;
};

const breakage breakages[] = {
    {"no cores", [](machine_parts& p) { p.cores.clear(); }},
    {"no core classes", [](machine_parts& p) { p.core_classes.clear(); }},
    {"no memory nodes", [](machine_parts& p) { p.memory_nodes.clear(); }},
    {"domain not adjacent", [](machine_parts& p) { p.cores[4].domain = 2; }},
    {"package not adjacent", [](machine_parts& p) { p.cores[0].package = 1; }},
    {"physical core not adjacent", [](machine_parts& p) { p.cores[5].physical_core = 9; }},
    {"lies in two packages", [](machine_parts& p) { p.cores[3].package = 1; }},
    {"smt index", [](machine_parts& p) { p.cores[1].smt = 0; }},
    {"core class", [](machine_parts& p) { p.cores[1].core_class = 1; }},
    {"memory node", [](machine_parts& p) { p.cores[1].memory_node = -1; }},
    {"its ranks are not the cores", [](machine_parts& p) { p.memory_nodes[0].ranks.last = 3; }},
    {"os index", [](machine_parts& p) { p.cores[1].os_index = 4; }},
    {"speed", [](machine_parts& p) { p.core_classes[0].speed = std::numeric_limits<double>::quiet_NaN(); }},
    {"speed", [](machine_parts& p) { p.core_classes[0].memory_speed = -1; }},
    {"bytes", [](machine_parts& p) { p.caches[0].bytes = 0; }},
    {"it spans domains", [](machine_parts& p) { p.caches[0].shared_by.last = 6; }},
    {"within [0, 8)", [](machine_parts& p) { p.caches.back().shared_by.last = 9; }},
    {"cuts a core in two", [](machine_parts& p) { p.caches[0].shared_by.last = 3; }},
    {"overlaps", [](machine_parts& p) { p.caches[1].shared_by = p.caches[0].shared_by; }},
    {"node_distances: number of entries", [](machine_parts& p) { p.node_distances = {10}; }},
    {"not symmetric", [](machine_parts& p) { p.node_distances = {10, 20, 21, 10}; }},
    {"10 on the diagonal", [](machine_parts& p) { p.node_distances = {11, 20, 20, 10}; }},
    {"10 to 10000", [](machine_parts& p) { p.node_distances = {10, 9, 9, 10}; }},
    {"number of nodes", [](machine_parts& p) { p.node_routes = {{0, 1}}; }},
    {"a node comes twice", [](machine_parts& p) { p.node_routes = {{0, 1, 0}}; }},
    {"a node", [](machine_parts& p) { p.node_routes = {{0, 1, 7}}; }},
    {"two routes join the same nodes",
     [](machine_parts& p) {
         p.memory_nodes.resize(4);
         p.node_distances.clear();
         p.node_latency_ns.clear();
         p.node_bandwidth_gbps.clear();
         p.node_routes = {{0, 1, 3}, {0, 2, 3}};
     }},
    {"a step of one is another one",
     [](machine_parts& p) {
         p.memory_nodes.resize(4);
         p.node_distances.clear();
         p.node_latency_ns.clear();
         p.node_bandwidth_gbps.clear();
         p.node_routes = {{0, 1, 3}, {1, 2, 3}};
     }},
    {"line_overhead_bytes", [](machine_parts& p) { p.line_overhead_bytes = -1; }},
    {"vector_work_per_cycle", [](machine_parts& p) { p.model.vector_work_per_cycle = 0; }},
    {"overlap", [](machine_parts& p) { p.model.overlap = 1.5; }},
    {"steal_latency_ns[0][1]", [](machine_parts& p) { p.steal_latency_ns = {1, -1, -1, 1}; }},
    {"two devices have one name", [](machine_parts& p) { p.devices = {{.name = "g"}, {.name = "g"}}; }},
    {"two disks have one name",
     [](machine_parts& p) {
         p.disks = {{.name = "d", .bandwidth_gbps = 1}, {.name = "d", .bandwidth_gbps = 1}};
     }},
    {"disk 'd': bandwidth_gbps", [](machine_parts& p) { p.disks = {{.name = "d"}}; }},
    {"do not add up",
     [](machine_parts& p) {
         p.cluster_of =
             weft::cluster{.nodes = 2, .network_bandwidth_gbps = 1, .classes = {{.name = "a", .count = 1}}};
     }},
    {"cpu quota", [](machine_parts& p) { p.cpu_quota = 0; }},
};

TEST(machine_model, every_broken_invariant_is_named) {
    const machine_parts right = weft::load_synthetic("pack:2 [numa] l3:1 core:2 pu:2").parts();
    EXPECT_NO_THROW(weft::validate(right));
    for (const breakage& b : breakages) {
        machine_parts wrong = right;
        b.apply(wrong);
        try {
            weft::validate(wrong);
            ADD_FAILURE() << "accepted: " << b.phrase;
        } catch (const weft::error& failure) {
            EXPECT_NE(std::string(failure.what()).find(b.phrase), std::string::npos) << failure.what();
            EXPECT_NE(std::string(failure.what()).find("; given: "), std::string::npos) << failure.what();
        }
    }
}

TEST(machine_model, the_default_machine_is_one_core) {
    const machine m;
    EXPECT_EQ(m.size(), 1);
    EXPECT_EQ(m.domains().size(), 1u);
    EXPECT_EQ(m.distance(0, 0), 0);
}

TEST(machine_model, distance_by_level) {
    const machine m = weft::load_synthetic("pack:2 [numa] l3:2 l2:2 core:2 pu:2");
    EXPECT_DOUBLE_EQ(m.distance(0, 0), 0);
    EXPECT_DOUBLE_EQ(m.distance(0, 1), 0);
    EXPECT_DOUBLE_EQ(m.distance(0, 2), 1);
    EXPECT_DOUBLE_EQ(m.distance(0, 4), 2);
    EXPECT_DOUBLE_EQ(m.distance(0, 8), 3);
    EXPECT_GT(m.distance(0, 16), 4);
}

// The level at which two ranks part, as the order of distances must follow it.
int level(const machine& m, int a, int b) {
    if (m.core_at(a).physical_core == m.core_at(b).physical_core) return 0;
    if (m.domain_of(a) == m.domain_of(b)) return 1;
    return m.package_of(a) == m.package_of(b) ? 2 : 3;
}

TEST(machine_model, random_synthetic_machines_keep_the_invariants) {
    const unsigned seed = 7;
    std::mt19937 random(seed);
    int refused = 0;
    for (int round = 0; round < 80; ++round) {
        const auto pick = [&](int least, int most) {
            return std::uniform_int_distribution<int>(least, most)(random);
        };
        std::ostringstream spec;
        spec << "pack:" << pick(1, 3) << (pick(0, 1) != 0 ? " [numa]" : "");
        if (pick(0, 1) != 0) spec << " l3:" << pick(1, 3) << (pick(0, 2) == 0 ? " [numa]" : "");
        if (pick(0, 1) != 0) spec << " l2:" << pick(1, 2);
        spec << " core:" << pick(1, 3) << " pu:" << pick(1, 2);
        SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + spec.str());
        machine m;
        try {
            m = weft::load_synthetic(spec.str());
        } catch (const weft::error& failure) {
            // hwloc takes memory at one level only.
            const std::string text = spec.str();
            EXPECT_NE(text.find("[numa]"), text.rfind("[numa]")) << failure.what();
            ++refused;
            continue;
        }
        EXPECT_NO_THROW(weft::validate(m.parts()));
        int covered = 0;
        for (std::size_t d = 0; d < m.domains().size(); ++d) {
            EXPECT_EQ(m.domains()[d].ranks.first, covered);
            covered = m.domains()[d].ranks.last;
            for (int r = m.domains()[d].ranks.first; r < covered; ++r)
                EXPECT_EQ(m.domain_of(r), static_cast<int>(d));
        }
        EXPECT_EQ(covered, m.size());
        double most[4] = {0, 0, 0, 0};
        double least[4] = {1e9, 1e9, 1e9, 1e9};
        for (int a = 0; a < m.size(); ++a) {
            EXPECT_DOUBLE_EQ(m.distance(a, a), 0);
            for (int b = 0; b < m.size(); ++b) {
                EXPECT_DOUBLE_EQ(m.distance(a, b), m.distance(b, a));
                const int l = level(m, a, b);
                most[l] = std::max(most[l], m.distance(a, b));
                least[l] = std::min(least[l], m.distance(a, b));
            }
        }
        for (int l = 0; l < 3; ++l) {
            for (int further = l + 1; further < 4; ++further) EXPECT_LT(most[l], least[further]);
        }
        EXPECT_NE(weft::describe(m).find("package 0"), std::string::npos);
    }
    EXPECT_LT(refused, 40);
}

TEST(machine_model, bytes_are_written_exactly) {
    EXPECT_EQ(weft::bytes_to_string(0), "0 B");
    EXPECT_EQ(weft::bytes_to_string(1000), "1000 B");
    EXPECT_EQ(weft::bytes_to_string(1024), "1 KiB");
    EXPECT_EQ(weft::bytes_to_string(77 << 19), "38.5 MiB");
    EXPECT_EQ(weft::bytes_to_string((std::int64_t{1} << 40) + (std::int64_t{1} << 30)), "1025 GiB");
    EXPECT_EQ(weft::bytes_to_string(1025), "1025 B");
}

TEST(machine_model, description_is_a_tree) {
    const machine m = weft::parse_toml(R"(
name = "small"
description = "for this test"
core_class = [{ name = "p", frequency_mhz = 3000 }, { name = "e", speed = 0.5 }]
domain = [
  { class = "p", cores = 2, threads_per_core = 2, package = 0, memory_node = 0, count = 2 },
  { class = "e", cores = 4, package = 1, memory_node = 1 },
]
memory_node = [{ count = 2, bytes = "4 GiB", bandwidth_gbps = 12.5, latency_ns = 80 }]
cache = [
  { level = 1, bytes = "32 KiB", latency_ns = 1.5 },
  { level = 2, bytes = "8 MiB", shared_by = "domain" },
]
steal = { same_domain_ns = 50, same_package_ns = 100, other_package_ns = 200 }
device = [{ name = "gpu0", memory_bytes = "12 GiB", speed = 20 }]
disk = [{ name = "d", bandwidth_gbps = 0.5, latency_ns = 100000 }]
[cluster]
nodes = 3
network_latency_ns = 50000
network_bandwidth_gbps = 0.125
node = [{ name = "a", count = 3 }]
)",
                                       "m.toml");
    EXPECT_EQ(weft::describe(m), R"(small: 12 ranks on 8 cores in 3 cache domains, 2 packages
  for this test
  package 0 (ranks 0-7)
    domains 0-1 (ranks 0-7, node 0): 2 x (L2 8 MiB, 2 x L1 32 KiB 1.5 ns, 2 cores p of 2 threads)
  package 1 (ranks 8-11)
    domain 2 (ranks 8-11, node 1): L2 8 MiB, 4 x L1 32 KiB 1.5 ns, 4 cores e
  memory node 0: 4 GiB dram, 12.5 GB/s, 80 ns, ranks 0-7, distances 10 20
  memory node 1: 4 GiB dram, 12.5 GB/s, 80 ns, ranks 8-11, distances 20 10
  core class p: speed 1, 3000 MHz
  core class e: speed 0.5
  steal latency: 50 ns in a domain, 100 ns in a package, 200 ns between packages
  device gpu0: gpu, 12 GiB, speed 20
  disk d: 0.5 GB/s, 100000 ns
  cluster: 3 nodes in 1 rack, 50000 ns, 0.125 GB/s
    3 x a: 1 slot, speed 1
)");
}

} // namespace
