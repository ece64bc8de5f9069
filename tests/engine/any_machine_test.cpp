// Programs on machines without a hand-written cost: synthetic ones, and this one.
// ctest: labels=exclusive tsan_cases=*measured_once*
#include "calibrate/model_machine.hpp"
#include "engine/support.hpp"
#include "machine/write_toml.hpp"

#include <weft/declare.hpp>
#include <weft/error.hpp>

#include <hwloc.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace weft {
namespace {

namespace fs = std::filesystem;

/// This machine is measured into a directory of this test, once.
class any_machine : public testing::Test {
protected:
    static void SetUpTestSuite() {
        fs::remove_all(cache);
        fs::create_directories(cache);
        setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    }
    static void TearDownTestSuite() { fs::remove_all(cache); }

    static inline const fs::path cache =
        fs::path(testing::TempDir()) / ("any_machine_" + std::to_string(getpid()));
};

long tree(int n, std::vector<double>& data) {
    cost(2000);
    touch(data.data(), data.size() * sizeof(double), access::read);
    if (n < 2) return 1;
    auto [a, b] = join([&] { return tree(n - 1, data); }, [&] { return tree(n - 2, data); });
    return a + b;
}

nlohmann::json report_on(const std::string& spec, const std::string& policy = "steal") {
    runtime_options o;
    o.engine = "model";
    o.machine = spec;
    o.policy = policy;
    o.seed = 7;
    runtime rt(o);
    std::vector<double> data(4096);
    EXPECT_EQ(rt.run([&] { return tree(12, data); }), 233);
    return nlohmann::json::parse(rt.report(report_format::json));
}

std::map<std::string, int> sources_of(const nlohmann::json& report) {
    std::map<std::string, int> count;
    for (const auto& f : report["figures"]) ++count[f["source"].get<std::string>()];
    return count;
}

TEST_F(any_machine, a_synthetic_one_runs_and_lists_its_defaults) {
    const auto report = report_on("numa:4 core:8 pu:1");
    EXPECT_EQ(report["workers"].size(), 32U);
    EXPECT_GT(report["seconds"].get<double>(), 0);
    auto count = sources_of(report);
    EXPECT_GE(count["typical"], 20);
    EXPECT_EQ(count["calibrated"], 0);
    EXPECT_FALSE(report.contains("calibrated_on"));
    EXPECT_EQ(report["costs"], "declared");
    EXPECT_EQ(report_on("numa:4 core:8 pu:1").dump(), report.dump()) << "the same seed, the same bits";
    EXPECT_GT(report["memory_nodes"][0]["local_bytes"].get<double>(), 0);
}

TEST_F(any_machine, the_table_lists_the_defaults_too) {
    runtime_options o;
    o.engine = "model";
    o.machine = "core:2 pu:1";
    runtime rt(o);
    rt.run([] { cost(1000); });
    const std::string table = rt.report(report_format::table);
    EXPECT_NE(table.find("\ntypical   core_class.frequency_mhz 3000, "), std::string::npos) << table;
    EXPECT_NE(table.find("\nfree      cache\n"), std::string::npos) << table;
}

TEST_F(any_machine, this_one_is_measured_once_and_then_the_same) {
    const auto first = report_on("this", "near");
    auto count = sources_of(first);
    EXPECT_GE(count["calibrated"], 10) << first["figures"].dump(1);
    EXPECT_EQ(count["none"], 0) << first["figures"].dump(1);
    EXPECT_TRUE(first.contains("calibrated_on"));
    EXPECT_EQ(report_on("", "near").dump(), first.dump()) << "this is the default";
    EXPECT_EQ(std::distance(fs::directory_iterator(cache / "weft"), fs::directory_iterator()), 1);
}

TEST_F(any_machine, the_table_tells_what_was_measured) {
    runtime_options o;
    o.engine = "model";
    o.machine = "this";
    runtime rt(o);
    rt.run([] { cost(1000); });
    const std::string table = rt.report(report_format::table);
    EXPECT_NE(table.find("\ncalibrated "), std::string::npos) << table;
}

TEST_F(any_machine, this_one_as_a_file_gives_the_same_times) {
    const auto direct = report_on("this");
    const fs::path file = cache / "written.toml";
    std::ofstream(file) << to_toml(model_machine("this"));
    const auto by_file = report_on(file.string());
    for (const char* const key : {"machine", "seconds", "events", "worker_seconds", "caches", "workers"})
        EXPECT_EQ(direct[key].dump(), by_file[key].dump()) << key;
    EXPECT_EQ(sources_of(by_file)["calibrated"], 0);
}

TEST_F(any_machine, an_xml_file_runs) {
    const fs::path file = cache / "node.xml";
    hwloc_topology_t topology = nullptr;
    ASSERT_EQ(hwloc_topology_init(&topology), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(topology, "pack:2 [numa] l3:1 core:2 pu:2"), 0);
    ASSERT_EQ(hwloc_topology_load(topology), 0);
    ASSERT_EQ(hwloc_topology_export_xml(topology, file.c_str(), 0), 0);
    hwloc_topology_destroy(topology);
    const auto report = report_on(file.string());
    EXPECT_EQ(report["workers"].size(), 8U);
    EXPECT_GE(sources_of(report)["typical"], 20);
}

} // namespace
} // namespace weft
