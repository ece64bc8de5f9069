#include "machine/describe.hpp"
#include "machine/load.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <hwloc.h>
#include <iterator>
#include <random>
#include <sched.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::string refusal_of(const std::string& spec) {
    try {
        weft::load_machine(spec);
    } catch (const weft::error& failure) { return failure.what(); }
    return "no error";
}

class temporary_folder {
public:
    temporary_folder() {
        std::string pattern = (fs::temp_directory_path() / "weft-machine-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~temporary_folder() { fs::remove_all(path_); }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

std::vector<fs::path> shipped() {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(fs::path(WEFT_SOURCE_DIR) / "machines")) {
        if (entry.path().extension() == ".toml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string where(const std::string& name) {
    return (fs::path(WEFT_SOURCE_DIR) / "machines" / (name + ".toml")).string();
}

// What must be the same however a machine was read; os indices and names are not.
void expect_same_shape(const weft::machine& a, const weft::machine& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a.packages().size(), b.packages().size());
    EXPECT_EQ(a.domains().size(), b.domains().size());
    ASSERT_EQ(a.memory_nodes().size(), b.memory_nodes().size());
    ASSERT_EQ(a.caches().size(), b.caches().size());
    for (int rank = 0; rank < a.size(); ++rank) {
        EXPECT_EQ(a.domain_of(rank), b.domain_of(rank)) << rank;
        EXPECT_EQ(a.package_of(rank), b.package_of(rank)) << rank;
        EXPECT_EQ(a.memory_node_of(rank), b.memory_node_of(rank)) << rank;
        EXPECT_EQ(a.core_at(rank).physical_core, b.core_at(rank).physical_core) << rank;
        EXPECT_DOUBLE_EQ(a.distance(0, rank), b.distance(0, rank)) << rank;
    }
    for (std::size_t i = 0; i < a.caches().size(); ++i) {
        EXPECT_EQ(a.caches()[i].bytes, b.caches()[i].bytes) << i;
        EXPECT_EQ(a.caches()[i].shared_by, b.caches()[i].shared_by) << i;
    }
}

TEST(machine_load, every_shipped_machine_is_valid_and_described) {
    const std::vector<fs::path> files = shipped();
    EXPECT_GE(files.size(), 11u);
    for (const fs::path& file : files) {
        SCOPED_TRACE(file.string());
        weft::machine m;
        ASSERT_NO_THROW(m = weft::load_machine(file.string()));
        EXPECT_EQ(m.name(), file.stem().string());
        EXPECT_FALSE(m.description().empty());
        EXPECT_TRUE(m.is_modelled());
        EXPECT_FALSE(m.cpu_quota());
        EXPECT_NE(weft::describe(m).find(m.name()), std::string::npos);
        for (int rank = 0; rank < m.size(); ++rank) {
            EXPECT_TRUE(m.steal_latency_ns(0, rank));
            EXPECT_TRUE(m.node_latency_ns(m.memory_node_of(0), m.memory_node_of(rank)));
        }
    }
}

struct shape {
    const char* name;
    int ranks, cores, domains, packages, nodes;
    std::int64_t last_level_bytes;
};

TEST(machine_load, shipped_machines_have_the_shape_their_papers_give) {
    const std::int64_t mib = 1 << 20;
    const shape shapes[] = {
        {"epyc-zen4-2", 2, 2, 1, 1, 1, 32 * mib},
        {"opteron-8380-4x4", 16, 16, 4, 4, 4, 6 * mib},
        {"opteron-8380-a-4-4-4-4", 16, 16, 4, 4, 4, 6 * mib},
        {"xeon-x7560-4x8", 32, 32, 4, 4, 4, 24 * mib},
        {"opteron-8380-a-2-2-2-10", 16, 16, 4, 4, 4, 6 * mib},
        {"xeon-x7560-i-24-0-0-8", 32, 32, 4, 4, 4, 24 * mib},
        {"xeon-e5-2660-2x8", 16, 16, 2, 2, 2, 20 * mib},
        {"xeon-platinum-8180m-2x28", 112, 56, 2, 2, 2, 77 * mib / 2},
        {"xeon-gold-6130-4x16", 64, 64, 4, 4, 4, 22 * mib},
        {"xeon-platinum-8280-2x28", 56, 56, 2, 2, 2, 77 * mib / 2},
        {"xeon-phi-7250", 272, 68, 34, 1, 2, mib},
        {"hikey960", 8, 8, 2, 1, 1, 2 * mib},
        {"xeon-5520-2x4", 8, 8, 2, 2, 2, 8 * mib},
        {"core-i7-2600k", 4, 4, 1, 1, 1, 8 * mib},
    };
    for (const shape& s : shapes) {
        SCOPED_TRACE(s.name);
        const weft::machine m = weft::load_machine(where(s.name));
        EXPECT_EQ(m.size(), s.ranks);
        EXPECT_EQ(m.physical_cores(), s.cores);
        EXPECT_EQ(m.domains().size(), static_cast<std::size_t>(s.domains));
        EXPECT_EQ(m.packages().size(), static_cast<std::size_t>(s.packages));
        EXPECT_EQ(m.memory_nodes().size(), static_cast<std::size_t>(s.nodes));
        ASSERT_NE(m.last_level_cache_of(0), nullptr);
        EXPECT_EQ(m.last_level_cache_of(0)->bytes, s.last_level_bytes);
        EXPECT_EQ(m.last_level_cache_of(0)->shared_by, m.domains()[0].ranks);
    }
}

TEST(machine_load, machines_of_aats_have_cores_of_the_clocks_in_their_names) {
    struct clocks {
        const char* name;
        int cores[4];
    };
    const clocks all[] = {
        {"opteron-8380-a-2-2-2-10", {2, 2, 2, 10}}, {"opteron-8380-a-4-4-4-4", {4, 4, 4, 4}},
        {"opteron-8380-a-2-0-0-14", {2, 0, 0, 14}}, {"opteron-8380-a-4-0-0-12", {4, 0, 0, 12}},
        {"opteron-8380-a-8-0-0-8", {8, 0, 0, 8}},   {"opteron-8380-a-12-0-0-4", {12, 0, 0, 4}},
        {"xeon-x7560-i-8-0-0-24", {8, 0, 0, 24}},   {"xeon-x7560-i-8-8-8-8", {8, 8, 8, 8}},
        {"xeon-x7560-i-16-0-0-16", {16, 0, 0, 16}}, {"xeon-x7560-i-24-0-0-8", {24, 0, 0, 8}},
    };
    for (const clocks& c : all) {
        SCOPED_TRACE(c.name);
        const weft::machine m = weft::load_machine(where(c.name));
        const bool amd = m.size() == 16;
        const weft::machine base = weft::load_machine(where(amd ? "opteron-8380-4x4" : "xeon-x7560-4x8"));
        ASSERT_EQ(m.size(), base.size());
        const double mhz[2][4] = {{2262, 1862, 1463, 1064}, {2500, 1800, 1300, 800}};
        int rank = 0;
        for (int g = 0; g < 4; ++g)
            for (int i = 0; i < c.cores[g]; ++i, ++rank) {
                EXPECT_EQ(m.class_of(rank).frequency_mhz, mhz[amd][g]);
                EXPECT_NEAR(m.speed_of(rank), mhz[amd][g] / mhz[amd][0], 5e-5);
            }
        EXPECT_EQ(rank, m.size());
        EXPECT_EQ(m.steal_latency_ns(0, m.size() - 1), base.steal_latency_ns(0, base.size() - 1));
        EXPECT_EQ(m.node_latency_ns(0, 3), base.node_latency_ns(0, 3));
    }
}

TEST(machine_load, a_file_based_on_another_says_what_does_not_fit) {
    const auto told = [](const std::string& text) -> std::string {
        try {
            weft::parse_toml(text, WEFT_SOURCE_DIR "/machines/mine.toml");
        } catch (const weft::error& e) { return e.what(); }
        return "taken";
    };
    const std::string begin = "name = 'm'\nbased_on = 'opteron-8380-4x4'\n";
    const auto cores = [](const char* name, int n) {
        return std::string("[[core_class]]\nname = '") + name + "'\ncores = " + std::to_string(n) + "\n";
    };
    EXPECT_EQ(told(begin + cores("a", 6) + cores("b", 10)), "taken");
    EXPECT_NE(
        told(begin).find("the classes have fewer cores than 'opteron-8380-4x4'; given: none; allowed: 16"),
        std::string::npos);
    EXPECT_NE(told(begin + cores("a", 15)).find("given: 15; allowed: 16 in all"), std::string::npos);
    EXPECT_NE(told(begin + cores("a", 17)).find("more cores than 'opteron-8380-4x4' has; given: 17"),
              std::string::npos);
    EXPECT_NE(told(begin + "[model]\noverlap = 1\n").find("unknown key; given: model"), std::string::npos);
    EXPECT_NE(told("name = 'm'\nbased_on = '../x'\n").find("not the name of a machine file"),
              std::string::npos);
    EXPECT_NE(told("name = 'm'\nbased_on = 'opteron-8380-a-4-4-4-4'\n" + cores("a", 16))
                  .find("another file is based on this one"),
              std::string::npos);
    EXPECT_NE(told("name = 'm'\nbased_on = 'oppteron'\n" + cores("a", 16)).find("oppteron"),
              std::string::npos);
}

TEST(machine_load, big_cores_of_hikey960_are_2_4_times_as_fast_at_arithmetic) {
    const weft::machine m = weft::load_machine(where("hikey960"));
    EXPECT_TRUE(m.is_heterogeneous());
    EXPECT_EQ(m.class_of(0).name, "A73");
    EXPECT_EQ(m.class_of(7).name, "A53");
    EXPECT_NEAR(m.speed_of(0, weft::work_kind::compute) / m.speed_of(7, weft::work_kind::compute), 2.4, 0.01);
    EXPECT_EQ(m.cache_of(0, 2)->bytes, 2 << 20);
    EXPECT_EQ(m.cache_of(7, 2)->bytes, 1 << 20);
}

TEST(machine_load, synthetic_string) {
    const weft::machine m = weft::load_machine(" pack:2 [numa] l3:2 core:4 pu:2\n");
    EXPECT_EQ(m.size(), 32);
    EXPECT_EQ(m.physical_cores(), 16);
    EXPECT_EQ(m.domains().size(), 4u);
    EXPECT_EQ(m.packages().size(), 2u);
    EXPECT_EQ(m.memory_nodes().size(), 2u);
    EXPECT_TRUE(m.is_modelled());
    EXPECT_EQ(m.domains()[1].ranks, (weft::rank_range{8, 16}));
    EXPECT_EQ(m.packages()[1].ranks, (weft::rank_range{16, 32}));
    EXPECT_EQ(m.packages()[1].first_domain, 2);
    EXPECT_EQ(m.packages()[1].last_domain, 4);
    EXPECT_EQ(m.memory_nodes()[1].ranks, (weft::rank_range{16, 32}));
    EXPECT_EQ(m.siblings_of(5), (weft::rank_range{4, 6}));
    EXPECT_EQ(m.core_at(5).smt, 1);
}

TEST(machine_load, without_a_shared_cache_the_package_is_the_domain) {
    EXPECT_EQ(weft::load_synthetic("pack:2 core:4 pu:1").domains().size(), 2u);
    EXPECT_EQ(weft::load_synthetic("pack:2 core:4 l2:1 pu:1").domains().size(), 2u);
    EXPECT_EQ(weft::load_synthetic("pack:1 l2:4 core:2 pu:1").domains().size(), 4u);
    EXPECT_EQ(weft::load_synthetic("pack:1 [numa] core:4 pu:1").domains().size(), 1u);
}

TEST(machine_load, this_machine_is_what_the_affinity_mask_allows) {
    cpu_set_t mask;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    const weft::machine m = weft::load_machine("");
    EXPECT_EQ(m.size(), CPU_COUNT(&mask));
    EXPECT_FALSE(m.is_modelled());
    for (const weft::core& c : m.cores()) EXPECT_TRUE(CPU_ISSET(static_cast<unsigned>(c.os_index), &mask));
}

TEST(machine_load, this_machine_shrinks_with_the_affinity_mask) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    unsigned last = 0;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &before)) last = cpu;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    EXPECT_EQ(weft::this_machine().size(), CPU_COUNT(&before));
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    const weft::machine m = weft::this_machine();
    ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
    ASSERT_EQ(m.size(), 1);
    EXPECT_EQ(m.core_at(0).os_index, static_cast<int>(last));
    EXPECT_EQ(m.memory_nodes().size(), 1u);
}

/// Makes hwloc believe that the machine is another one.
class hwloc_variable {
public:
    hwloc_variable(const char* name, const std::string& value) : name_(name) {
        ::setenv(name, value.c_str(), 1);
    }
    ~hwloc_variable() { ::unsetenv(name_); }
    hwloc_variable(const hwloc_variable&) = delete;
    hwloc_variable& operator=(const hwloc_variable&) = delete;

private:
    const char* const name_;
};

TEST(machine_load, this_machine_is_read_anew_when_hwlocs_variables_change) {
    const int here = weft::this_machine().size();
    for (int cores = 3; cores < 6; ++cores) {
        const hwloc_variable other("HWLOC_SYNTHETIC", "core:" + std::to_string(cores) + " pu:1");
        EXPECT_EQ(weft::this_machine().size(), cores);
    }
    EXPECT_EQ(weft::this_machine().size(), here);
}

/// Writes a machine of so many cores as a file for HWLOC_XMLFILE.
void write_xml(const fs::path& file, int cores) {
    hwloc_topology_t topology = nullptr;
    ASSERT_EQ(hwloc_topology_init(&topology), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(topology, ("core:" + std::to_string(cores) + " pu:1").c_str()), 0);
    ASSERT_EQ(hwloc_topology_load(topology), 0);
    ASSERT_EQ(hwloc_topology_export_xml(topology, file.c_str(), 0), 0);
    hwloc_topology_destroy(topology);
}

/// How many cores this machine has before and after the file behind the same variable changes from 6 to 7 cores: (6, 6) if it
/// is read once, (6, 7) if it is read each time.
std::pair<int, int> cores_around_a_change() {
    const temporary_folder folder;
    const fs::path file = folder.path() / "machine.xml";
    write_xml(file, 6);
    const hwloc_variable other("HWLOC_XMLFILE", file.string());
    const int before = weft::this_machine().size();
    write_xml(file, 7);
    return {before, weft::this_machine().size()};
}

// In processes of their own: what is kept stays until the process ends.
TEST(machine_load, this_machine_is_read_once_while_nothing_changes) {
    EXPECT_EXIT(std::_Exit(cores_around_a_change() == std::pair(6, 6) ? 0 : 1), testing::ExitedWithCode(0),
                "");
}

TEST(machine_load, machines_behind_the_last_that_is_kept_are_read_each_time) {
    const auto all_right = [] {
        bool right = true;
        for (int cores = 1; cores <= 40; ++cores) {
            const hwloc_variable other("HWLOC_SYNTHETIC", "core:" + std::to_string(cores) + " pu:1");
            for (int again = 0; again < 2; ++again) right &= weft::this_machine().size() == cores;
        }
        return right && cores_around_a_change() == std::pair(6, 7);
    };
    EXPECT_EXIT(std::_Exit(all_right() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(machine_load, xml_of_this_machine_and_of_synthetic_ones_reads_back) {
    const temporary_folder folder;
    for (const char* spec : {"", "pack:2 [numa] l3:2 core:4 pu:2", "pack:1 [numa] l2:3 core:2 pu:4"}) {
        SCOPED_TRACE(spec);
        const fs::path file = folder.path() / "machine.xml";
        hwloc_topology_t topology = nullptr;
        ASSERT_EQ(hwloc_topology_init(&topology), 0);
        if (*spec != '\0') { ASSERT_EQ(hwloc_topology_set_synthetic(topology, spec), 0); }
        ASSERT_EQ(hwloc_topology_load(topology), 0);
        ASSERT_EQ(hwloc_topology_export_xml(topology, file.c_str(), 0), 0);
        hwloc_topology_destroy(topology);
        const weft::machine m = weft::load_machine(file.string());
        EXPECT_TRUE(m.is_modelled());
        // An affinity mask of this process is no part of the file.
        if (*spec != '\0' || m.size() == weft::this_machine().size()) {
            expect_same_shape(m, weft::load_machine(spec));
        }
    }
}

TEST(machine_load, refuses_what_cannot_be_read) {
    const temporary_folder folder;
    const fs::path broken = folder.path() / "broken.xml";
    std::ofstream(broken) << "<topology><object type=\"Machine\"></topology>";
    fs::create_directory(folder.path() / "folder.toml");
    EXPECT_NE(refusal_of("nowhere/m.toml").find("not found; given: nowhere/m.toml"), std::string::npos);
    EXPECT_NE(refusal_of((folder.path() / "folder.toml").string()).find("is no file"), std::string::npos);
    EXPECT_NE(refusal_of("nowhere/m.xml").find("given: nowhere/m.xml"), std::string::npos);
    EXPECT_NE(refusal_of(broken.string()).find("broken.xml"), std::string::npos);
    EXPECT_EQ(refusal_of("opteron").find("unknown machine; given: 'opteron'; allowed: core-i7-2600k, "), 0U);
    EXPECT_NE(refusal_of("core:none").find("given: 'core:none'; allowed: a file ending in .toml or .xml"),
              std::string::npos);
    EXPECT_NE(refusal_of("pack:2 core:x").find("given: 'pack:2 core:x'"), std::string::npos);
}

TEST(machine_load, the_examples_of_the_readme_are_valid) {
    const std::string readme = read_text(fs::path(WEFT_SOURCE_DIR) / "machines" / "README.md");
    int examples = 0;
    for (std::size_t at = readme.find("```toml\n"); at != readme.npos; at = readme.find("```toml\n", at)) {
        at += 8;
        const std::string text = readme.substr(at, readme.find("```", at) - at);
        EXPECT_NO_THROW(weft::parse_toml(text, "README.md")) << text;
        ++examples;
    }
    EXPECT_EQ(examples, 3);
}

// A regular machine is described in both languages; both must give the same shape.
TEST(machine_load, random_regular_machines_agree_between_synthetic_and_toml) {
    const unsigned seed = 20240731;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 60; ++round) {
        const auto pick = [&](int least, int most) {
            return std::uniform_int_distribution<int>(least, most)(random);
        };
        const int packages = pick(1, 4);
        const int domains = pick(1, 3);
        const int cores = pick(2, 6);
        const int threads = pick(1, 3);
        std::ostringstream synthetic;
        synthetic << "pack:" << packages << " [numa] l3:" << domains << "(size=8388608) core:" << cores
                  << " pu:" << threads;
        std::ostringstream toml;
        toml << "name='m'\n[regular]\npackages=" << packages << "\ndomains_per_package=" << domains
             << "\ncores_per_domain=" << cores << "\nthreads_per_core=" << threads
             << "\n[[cache]]\nlevel=3\nbytes='8 MiB'\nshared_by='domain'\n[[memory_node]]\ncount=" << packages
             << "\n";
        SCOPED_TRACE(synthetic.str());
        const weft::machine m = weft::load_synthetic(synthetic.str());
        expect_same_shape(m, weft::parse_toml(toml.str(), "random"));
        EXPECT_EQ(m.size(), packages * domains * cores * threads);
        EXPECT_EQ(m.domains().size(), static_cast<std::size_t>(packages * domains));
    }
}

// Whatever happens to a file, it is a machine or a weft::error: nothing else is thrown and nothing crashes.
TEST(machine_load, damaged_files_are_refused_or_read) {
    const unsigned seed = 11;
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::string pieces[] = {
        "-1", "0", "1e400",    "nan", "9223372036854775807", "\"", "[[", "]", "{", "\n", "=", "true",
        "}",  ",", "\xc3\xa4", "''"};
    int refused = 0;
    int rounds = 0;
    for (const fs::path& file : shipped()) {
        const std::string text = read_text(file);
        for (int round = 0; round < 60; ++round, ++rounds) {
            const auto pick = [&](std::size_t most) {
                return std::uniform_int_distribution<std::size_t>(0, most)(random);
            };
            std::string damaged = text;
            for (std::size_t change = 0; change <= pick(2); ++change) {
                damaged.replace(pick(damaged.size()), pick(3), pieces[pick(std::size(pieces) - 1)]);
            }
            try {
                weft::parse_toml(damaged, file.string());
            } catch (const weft::error&) { ++refused; }
        }
    }
    EXPECT_GT(refused, rounds / 4);
    EXPECT_LT(refused, rounds);
}

} // namespace
