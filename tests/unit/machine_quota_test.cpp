#include "machine/load.hpp"
#include "machine/quota.hpp"
#include "machine/workers.hpp"

#include <weft/error.hpp>

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

namespace fs = std::filesystem;

class machine_quota : public testing::Test {
protected:
    machine_quota() {
        std::string pattern = (fs::temp_directory_path() / "weft-quota-XXXXXX").string();
        root_ = ::mkdtemp(pattern.data());
    }
    ~machine_quota() override { fs::remove_all(root_); }

    void put(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }

    std::optional<double> quota(const std::string& groups) const { return weft::cpu_quota(root_, groups); }

    fs::path root_;
};

TEST_F(machine_quota, version_2) {
    put("a/cpu.max", "150000 100000\n");
    EXPECT_EQ(quota("0::/a\n"), 1.5);
    EXPECT_EQ(quota("0::/b\n"), std::nullopt);
    EXPECT_EQ(quota(""), std::nullopt);
    EXPECT_EQ(quota("nonsense\n:\n"), std::nullopt);
}

TEST_F(machine_quota, version_2_without_a_limit) {
    put("a/cpu.max", "max 100000\n");
    EXPECT_EQ(quota("0::/a\n"), std::nullopt);
}

TEST_F(machine_quota, version_2_default_period) {
    put("a/cpu.max", "50000\n");
    EXPECT_EQ(quota("0::/a\n"), 0.5);
}

TEST_F(machine_quota, the_smallest_of_the_groups_above_counts) {
    put("a/cpu.max", "300000 100000\n");
    put("a/b/cpu.max", "max 100000\n");
    put("a/b/c/cpu.max", "800000 100000\n");
    EXPECT_EQ(quota("0::/a/b/c\n"), 3.0);
    EXPECT_EQ(quota("0::/a/b\n"), 3.0);
    put("a/b/c/cpu.max", "80000 40000\n");
    EXPECT_EQ(quota("0::/a/b/c\n"), 2.0);
}

TEST_F(machine_quota, inside_a_container_the_limit_is_at_the_mount_point) {
    put("cpu.max", "200000 100000\n");
    EXPECT_EQ(quota("0::/\n"), 2.0);
    EXPECT_EQ(quota("0::/../../elsewhere\n"), 2.0);
}

TEST_F(machine_quota, version_1) {
    put("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n");
    put("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota("5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n"), 0.5);
    EXPECT_EQ(quota("4:cpuset:/docker/x\n"), std::nullopt);
}

TEST_F(machine_quota, version_1_nested_and_without_a_limit) {
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    put("cpu/a/cpu.cfs_quota_us", "-1\n");
    put("cpu/a/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota("1:cpu:/a\n"), std::nullopt);
    put("cpu/cpu.cfs_quota_us", "400000\n");
    EXPECT_EQ(quota("1:cpu:/a\n"), 4.0);
    EXPECT_EQ(quota("1:cpuacct,cpu:/a\n"), 4.0);
}

TEST_F(machine_quota, both_versions_mounted) {
    put("unified/a/cpu.max", "300000 100000\n");
    put("cpu/a/cpu.cfs_quota_us", "250000\n");
    put("cpu/a/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(quota("1:cpu:/a\n0::/a\n"), 2.5);
    EXPECT_EQ(quota("0::/a\n"), 3.0);
}

TEST_F(machine_quota, a_file_that_makes_no_sense_sets_no_limit) {
    for (const char* text : {"", "\n", "x y\n", "-5 100000\n", "100000 0\n", "0 100000\n", "1e5 100000\n",
                             "99999999999999999999 100000\n"}) {
        put("a/cpu.max", text);
        EXPECT_EQ(quota("0::/a\n"), std::nullopt) << text;
    }
}

TEST(machine_workers, default_count_follows_the_quota) {
    weft::machine_parts parts = weft::load_synthetic("pack:1 core:4 pu:2").parts();
    EXPECT_EQ(weft::default_workers(weft::machine(parts)), 8);
    const std::pair<double, int> expected[] = {{0.01, 1}, {0.5, 1}, {1.0, 1}, {1.49, 1}, {1.5, 2}, {2.0, 2},
                                               {2.4, 2},  {2.5, 3}, {7.6, 8}, {8.0, 8},  {64.0, 8}};
    for (const auto& [quota, workers] : expected) {
        parts.cpu_quota = quota;
        EXPECT_EQ(weft::default_workers(weft::machine(parts)), workers) << quota;
    }
}

TEST(machine_workers, compact_fills_domains_and_scatter_spreads) {
    const weft::machine m = weft::load_synthetic("pack:2 [numa] l3:2 core:2 pu:2");
    using ranks = std::vector<int>;
    EXPECT_EQ(weft::ranks_for(m, 4, weft::pin_order::compact), (ranks{0, 2, 4, 6}));
    EXPECT_EQ(weft::ranks_for(m, 2, weft::pin_order::scatter), (ranks{0, 8}));
    EXPECT_EQ(weft::ranks_for(m, 4, weft::pin_order::scatter), (ranks{0, 4, 8, 12}));
    EXPECT_EQ(weft::ranks_for(m, 9, weft::pin_order::scatter), (ranks{0, 1, 2, 4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(weft::ranks_for(m, 16, weft::pin_order::compact).size(), 16u);
    EXPECT_THROW(weft::ranks_for(m, 0, weft::pin_order::compact), weft::error);
    EXPECT_THROW(weft::ranks_for(m, 17, weft::pin_order::scatter), weft::error);
}

TEST(machine_workers, every_restriction_is_a_machine) {
    for (const char* spec :
         {"pack:2 [numa] l3:2 core:2 pu:2", "pack:3 [numa] l2:2 core:3 pu:1", "core:5 pu:1"}) {
        const weft::machine m = weft::load_synthetic(spec);
        for (int workers = 1; workers <= m.size(); ++workers) {
            for (const auto how : {weft::pin_order::compact, weft::pin_order::scatter}) {
                const std::vector<int> ranks = weft::ranks_for(m, workers, how);
                const weft::machine part = weft::restrict_to(m, ranks);
                ASSERT_EQ(part.size(), workers);
                for (int rank = 0; rank < workers; ++rank) {
                    const int before = ranks[static_cast<std::size_t>(rank)];
                    EXPECT_DOUBLE_EQ(part.distance(0, rank), m.distance(ranks[0], before));
                    EXPECT_EQ(part.memory_node_of(rank), m.memory_node_of(before));
                }
            }
        }
    }
}

TEST(machine_workers, restriction_keeps_the_latencies_between_its_domains) {
    weft::machine_parts parts = weft::load_synthetic("pack:3 [numa] l3:1 core:2 pu:1").parts();
    parts.steal_latency_ns = {1, 12, 13, 12, 2, 23, 13, 23, 3};
    const weft::machine part = weft::restrict_to(weft::machine(parts), {0, 4, 5});
    EXPECT_DOUBLE_EQ(part.steal_latency_ns(0, 1).value(), 13);
    EXPECT_DOUBLE_EQ(part.steal_latency_ns(1, 2).value(), 3);
    EXPECT_EQ(part.packages().size(), 2u);
    EXPECT_EQ(part.memory_nodes().size(), 3u);
    EXPECT_EQ(part.memory_nodes()[1].ranks.size(), 0);
    EXPECT_THROW(weft::restrict_to(part, {}), weft::error);
    EXPECT_THROW(weft::restrict_to(part, {1, 0}), weft::error);
    EXPECT_THROW(weft::restrict_to(part, {3}), weft::error);
}

} // namespace
