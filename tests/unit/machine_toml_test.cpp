#include "machine/load.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>
#include <string>

namespace {

struct malformed {
    const char* ready_reason;
    const char* text;
    int line;
    const char* key;
    const char* phrase;
};

// `top` machines are complete but for what follows.
const malformed cases[] = {
    {"syntax", "name = 'm'\n[regular\n", 2, "", "not TOML"},
    {"header without a key", "name = 'm'\n[=]\n", 2, "", "not TOML: a table header without a key"},
    {"three brackets", "name = 'm'\n [[ [x]]]\n", 2, "", "not TOML: a table header without a key"},
    {"header at the end of a line", "name = \"\"\"a\n[=\n\"\"\"\na = [\n[\n1]]\n[\n", 7, "",
     "not TOML: a table header"},
    {"key that is not ASCII", "name = 'm'\nl\xc3\xa4nge = 2\n", 2, "",
     "not TOML: a character that is not ASCII"},
    {"strings and comments may be anything", "name = '\xc3\xa4' # \xe2\x82\xac\n", 1, "",
     "no cores are described"},
    {"brace in an array", "name = [ 1,\n}\n", 2, "", "not TOML: an array that a brace closes"},
    {"what is wrong before a header comes first", "name = \n[=]\n", 1, "", "not TOML"},
    {"same key twice", "name = 'm'\nname = 'n'\n", 2, "", "not TOML"},
    {"empty file", "", 1, "name", "missing key; given: nothing; allowed: a string"},
    {"no name", "[regular]\ncores_per_domain = 2\n", 1, "name", "missing key"},
    {"empty name", "name = ''\n[regular]\ncores_per_domain = 2\n", 1, "name", "empty"},
    {"no cores", "name = 'm'\n", 1, "",
     "no cores are described; given: neither; allowed: either [regular] or"},
    {"name is a number", "name = 7\n[regular]\ncores_per_domain = 2\n", 1, "name",
     "wrong type; given: 7; allowed: a string"},
    {"unknown at the top", "name = 'm'\ncolour = 'red'\n[regular]\ncores_per_domain = 2\n", 2, "colour",
     "unknown key; given: colour; allowed: name, description, core_class, regular"},
    {"negative charge", "name = 'm'\n[regular]\ncores_per_domain = 2\n[charges]\nlook_ns = -1\n", 5,
     "charges.look_ns", "out of range; given: -1"},
    {"no loads in flight", "name = 'm'\n[regular]\ncores_per_domain = 2\n[model]\nloads_in_flight = 0\n", 5,
     "model.loads_in_flight", "a finite number, 0.001 to 1000000"},
    {"unknown in a table", "name = 'm'\n[regular]\ncores_per_domain = 2\ncores = 4\n", 4, "regular.cores",
     "unknown key; given: cores; allowed: packages, domains_per_package"},
    {"missing in a table", "name = 'm'\n\n[regular]\npackages = 2\n", 3, "regular.cores_per_domain",
     "missing key"},
    {"negative count", "name = 'm'\n[regular]\ncores_per_domain = -2\n", 3, "regular.cores_per_domain",
     "out of range; given: -2; allowed: a whole number, 1 to 65536"},
    {"fraction of a core", "name = 'm'\n[regular]\ncores_per_domain = 2.5\n", 3, "regular.cores_per_domain",
     "wrong type; given: 2.5"},
    {"too many ranks", "name = 'm'\n[regular]\npackages = 1000\ncores_per_domain = 1000\n", 2, "regular",
     "too many ranks"},
    {"both forms", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[domain]]\ncores = 1\n", 4, "domain",
     "either [regular] or [[domain]]"},
    {"regular is no table", "name = 'm'\nregular = 4\n", 2, "regular",
     "wrong type; given: 4; allowed: a table [regular]"},
    {"cache is no list", "name = 'm'\n[regular]\ncores_per_domain = 2\n[cache]\nlevel = 1\n", 4, "cache",
     "allowed: tables, each [[cache]]"},
    {"unknown word", "name = 'm'\n[regular]\ncores_per_domain = 2\nmemory_node_per = 'core'\n", 4,
     "regular.memory_node_per", "given: \"core\"; allowed: \"machine\", \"package\", \"domain\""},
    {"negative size", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = -32768\n",
     6, "cache[0].bytes", "out of range; given: -32768; allowed: a whole number of bytes"},
    {"negative size in words",
     "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = '-32 KiB'\n", 6,
     "cache[0].bytes", "out of range"},
    {"unit unknown", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = '32 kiB'\n",
     6, "cache[0].bytes", "not a size; given: \"32 kiB\""},
    {"half a byte", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = '0.3 KiB'\n",
     6, "cache[0].bytes", "not a whole number of bytes"},
    {"size is infinite",
     "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = 'inf KiB'\n", 6,
     "cache[0].bytes", "out of range"},
    {"no size", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\n", 4, "cache[0].bytes",
     "missing key"},
    {"level 0", "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 0\nbytes = 1\n", 5,
     "cache[0].level", "out of range"},
    {"line size",
     "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = 4096\nline_bytes = 48\n", 7,
     "cache[0].line_bytes", "not a power of two; given: 48"},
    {"two caches of a level",
     "name = 'm'\n[regular]\ncores_per_domain = 2\n[[cache]]\nlevel = 1\nbytes = 64\n[[cache]]\nlevel = "
     "1\nbytes = 64\n",
     8, "cache[1].level", "rank 0 has two caches of this level"},
    {"cache shared by 3 of 4 cores",
     "name = 'm'\n[regular]\ncores_per_domain = 4\n[[cache]]\nlevel = 1\nbytes = 64\nshared_by = 3\n", 7,
     "cache[0].shared_by", "4 adjacent cores of a domain cannot be divided by it; given: 3"},
    {"cache shared by a word",
     "name = 'm'\n[regular]\ncores_per_domain = 4\n[[cache]]\nlevel = 1\nbytes = 64\nshared_by = 'all'\n", 7,
     "cache[0].shared_by", "given: \"all\"; allowed: \"core\", \"domain\""},
    {"latency is not a number",
     "name = 'm'\n[regular]\ncores_per_domain = 4\n[[cache]]\nlevel = 1\nbytes = 64\nlatency_ns = nan\n", 7,
     "cache[0].latency_ns", "out of range; given: nan; allowed: a finite number"},
    {"bandwidth is infinite",
     "name = 'm'\n[[memory_node]]\nbandwidth_gbps = inf\n[regular]\ncores_per_domain = 4\n", 3,
     "memory_node[0].bandwidth_gbps", "given: inf; allowed: a finite number, 1e-06 to 1000000000"},
    {"next to no bandwidth",
     "name = 'm'\n[[memory_node]]\nbandwidth_gbps = 1e-320\n[regular]\ncores_per_domain = 4\n", 3,
     "memory_node[0].bandwidth_gbps", "out of range; given: 1e-320; allowed: a finite number, 1e-06 to"},
    {"a latency of a minute",
     "name = 'm'\n[[memory_node]]\nlatency_ns = 6e10\n[regular]\ncores_per_domain = 4\n", 3,
     "memory_node[0].latency_ns", "allowed: a finite number, 0.001 to 1000000000"},
    {"a charge of an hour", "name = 'm'\n[regular]\ncores_per_domain = 2\n[charges]\nfork_ns = 3.6e12\n", 5,
     "charges.fork_ns", "allowed: a finite number, 0 to 1000000000"},
    {"a disk that hardly turns",
     "name = 'm'\n[regular]\ncores_per_domain = 2\n[[disk]]\nname = 'd'\nbandwidth_gbps = 1e-300\n", 6,
     "disk[0].bandwidth_gbps", "allowed: a finite number, 1e-06 to"},
    {"too many domains",
     "name = 'm'\n[regular]\npackages = 8\ndomains_per_package = 1000\ncores_per_domain = 1\n", 1, "",
     "too many domains; given: 8000; allowed: 1024 in all"},
    {"too many memory nodes of domains",
     "name = 'm'\n[regular]\ndomains_per_package = 2000\ncores_per_domain = 1\nmemory_node_per = 'domain'\n",
     1, "", "too many domains"},
    {"truth is a word", "name = 'm'\n[[memory_node]]\nonly_memory = 'yes'\n[regular]\ncores_per_domain = 4\n",
     3, "memory_node[0].only_memory", "given: \"yes\"; allowed: true or false"},
    {"too few memory nodes", "name = 'm'\n[[memory_node]]\n[regular]\npackages = 2\ncores_per_domain = 4\n",
     2, "memory_node", "does not match the cores; given: 1; allowed: at least 2"},
    {"too many memory nodes", "name = 'm'\n[[memory_node]]\ncount = 2\n[regular]\ncores_per_domain = 4\n", 2,
     "memory_node[0].only_memory", "memory node 1 has no cores"},
    {"memory node with cores",
     "name = 'm'\n[[memory_node]]\nonly_memory = true\n[regular]\ncores_per_domain = 4\n", 3,
     "memory_node[0].only_memory", "memory node 0 has cores; given: only_memory = true"},
    {"speed 0", "name = 'm'\n[[core_class]]\nname = 'a'\nspeed = 0\n[regular]\ncores_per_domain = 4\n", 4,
     "core_class[0].speed", "out of range; given: 0; allowed: a finite number, 1e-06 to 1000000"},
    {"class of no name", "name = 'm'\n[[core_class]]\nspeed = 1\n[regular]\ncores_per_domain = 4\n", 2,
     "core_class[0].name", "missing key"},
    {"class twice",
     "name = 'm'\n[[core_class]]\nname = 'a'\n[[core_class]]\nname = 'a'\n[regular]\ncores_per_domain = 4\n",
     5, "core_class[1].name", "two core classes have this name"},
    {"clocks upwards",
     "name = 'm'\n[[core_class]]\nname = 'a'\nfrequencies_mhz = [800, 1300]\n[regular]\ncores_per_domain = "
     "4\n",
     4, "core_class[0].frequencies_mhz", "not in order"},
    {"a clock is a word",
     "name = 'm'\n[[core_class]]\nname = 'a'\nfrequencies_mhz = [\n  800,\n  "
     "'slow']\n[regular]\ncores_per_domain = 4\n",
     6, "core_class[0].frequencies_mhz[1]", "wrong type; given: \"slow\""},
    {"class unknown",
     "name = 'm'\n[[core_class]]\nname = 'a'\n[regular]\ncores_per_domain = 4\nclass = 'b'\n", 6,
     "regular.class", "no such core class; given: \"b\"; allowed: \"a\""},
    {"class unsaid",
     "name = 'm'\n[[core_class]]\nname = 'a'\n[[core_class]]\nname = 'b'\n[[domain]]\ncores = 4\n", 6,
     "domain[0].class", "as there are several core classes; given: nothing; allowed: \"a\", \"b\""},
    {"package skipped", "name = 'm'\n[[domain]]\ncores = 4\n[[domain]]\npackage = 2\ncores = 4\n", 5,
     "domain[1].package", "packages are not adjacent; given: 2; allowed: 0 or 1"},
    {"package of the first", "name = 'm'\n[[domain]]\npackage = 1\ncores = 4\n", 3, "domain[0].package",
     "given: 1; allowed: 0 for the first"},
    {"memory node unsaid", "name = 'm'\n[[memory_node]]\ncount = 2\n[[domain]]\ncores = 4\n", 4,
     "domain[0].memory_node", "missing key, as there are several memory nodes"},
    {"memory node out of range", "name = 'm'\n[[memory_node]]\n[[domain]]\ncores = 4\nmemory_node = 1\n", 5,
     "domain[0].memory_node", "out of range; given: 1"},
    {"memory node left and come back to",
     "name = 'm'\n[[memory_node]]\ncount = 2\n[[domain]]\ncores = 1\nmemory_node = 0\n[[domain]]\ncores = "
     "1\nmemory_node = "
     "1\n[[domain]]\ncores = 1\nmemory_node = 0\n",
     12, "domain[2].memory_node", "not adjacent"},
    {"cores twice", "name = 'm'\n[[domain]]\nthreads_per_core = 2\ncores = [{count = 2}]\n", 3,
     "domain[0].threads_per_core", "given for the domain and for its cores"},
    {"key in a mixed domain", "name = 'm'\n[[domain]]\ncores = [{cuont = 2}]\n", 3,
     "domain[0].cores[0].cuont", "unknown key; given: cuont; allowed: class, count, threads_per_core"},
    {"cache of a class without cores",
     "name = 'm'\n[[core_class]]\nname = 'a'\n[[core_class]]\nname = 'b'\n[[domain]]\ncores = 4\nclass = "
     "'a'\n[[cache]]\nlevel = 1\nbytes = 64\nclass = 'b'\n",
     12, "cache[0].class", "no core is of this class"},
    {"distance rows",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nnodes = [[10, 20]]\n", 6,
     "distance.nodes", "number of rows does not match"},
    {"distance columns",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nnodes = [[10, 20],\n[20]]\n", 7,
     "distance.nodes[1]",
     "number of columns does not match; given: an array of 1; allowed: an array of 2 arrays of 2"},
    {"distance unsymmetric",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nnodes = [[10, 20], [21, 10]]\n",
     6, "distance.nodes", "[1][0] and [0][1] differ; given: 21 and 20; allowed: a symmetric matrix"},
    {"distance diagonal",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nnodes = [[10, 20], [20, 11]]\n",
     6, "distance.nodes", "[1][1] is not 10; given: 11"},
    {"distance too near",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nnodes = [[10, 5], [5, 10]]\n", 6,
     "distance.nodes[0][1]", "out of range; given: 5"},
    {"distance twice",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nremote = 20\nnodes = [[10, 20], "
     "[20, 10]]\n",
     6, "distance.remote", "there is a 'nodes' too"},
    {"remote latency without a local one",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[distance]\nremote_latency_ns = 20\n", 6,
     "distance.remote_latency_ns", "memory node 0 does not say its own"},
    {"steal other package unsaid",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[steal]\nsame_domain_ns = 5\n", 5,
     "steal.other_package_ns", "missing key"},
    {"steal same package unsaid",
     "name = 'm'\n[regular]\ndomains_per_package = 2\ncores_per_domain = 1\n[steal]\nsame_domain_ns = 5\n", 5,
     "steal.same_package_ns", "missing key"},
    {"steal matrix side",
     "name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 1\n[steal]\nmatrix_ns = [[5]]\n", 6,
     "steal.matrix_ns", "number of rows does not match; given: an array of 1"},
    {"device of no name", "name = 'm'\n[regular]\ncores_per_domain = 1\n[[device]]\nkind = 'gpu'\n", 4,
     "device[0].name", "missing key"},
    {"device at no node",
     "name = 'm'\n[regular]\ncores_per_domain = 1\n[[device]]\nname = 'g'\nmemory_node = 1\n", 6,
     "device[0].memory_node", "out of range"},
    {"disk without a bandwidth", "name = 'm'\n[regular]\ncores_per_domain = 1\n[[disk]]\nname = 'd'\n", 4,
     "disk[0].bandwidth_gbps", "missing key"},
    {"disks of one name",
     "name = 'm'\n[regular]\ncores_per_domain = 1\n[[disk]]\nname = 'd'\nbandwidth_gbps = 1\n[[disk]]\nname "
     "= "
     "'d'\n",
     8, "disk[1].name", "two disks have this name"},
    {"cluster without a network", "name = 'm'\n[regular]\ncores_per_domain = 1\n[cluster]\nnodes = 2\n", 4,
     "cluster.network_latency_ns", "missing key"},
    {"cluster counts",
     "name = 'm'\n[regular]\ncores_per_domain = 1\n[cluster]\nnodes = 3\nnetwork_latency_ns = "
     "1\nnetwork_bandwidth_gbps = "
     "1\n[[cluster.node]]\nname = 'a'\ncount = 2\n",
     5, "cluster.nodes", "the classes of nodes add up to 2; given: 3"},
    {"cluster counts above",
     "name = 'm'\n[regular]\ncores_per_domain = 1\n[cluster]\nnodes = 3\nnetwork_latency_ns = "
     "1\nnetwork_bandwidth_gbps = "
     "1\n[[cluster.node]]\nname = 'a'\ncount = 2\n[[cluster.node]]\nname = 'b'\ncount = 2\n",
     13, "cluster.node[1].count", "more nodes than the cluster has; given: 2; allowed: 3 in all"},
};

std::string refusal_of(const std::string& text) {
    try {
        weft::parse_toml(text, "m.toml");
    } catch (const weft::error& failure) { return failure.what(); }
    return "no error";
}

TEST(machine_toml, malformed_files_are_refused_with_line_key_and_what_is_allowed) {
    for (const malformed& c : cases) {
        SCOPED_TRACE(c.ready_reason);
        const std::string message = refusal_of(c.text);
        const std::string start = "m.toml:" + std::to_string(c.line) + ": " + c.key;
        EXPECT_EQ(message.substr(0, start.size()), start) << message;
        EXPECT_NE(message.find(c.phrase), std::string::npos) << message;
    }
}

TEST(machine_toml, a_part_of_a_domain_cannot_have_the_last_cache) {
    const std::string message = refusal_of(
        "name = 'm'\n[regular]\ncores_per_domain = 4\n[[cache]]\nlevel = 2\nbytes = 64\nshared_by = 2\n");
    EXPECT_NE(message.find("m.toml: "), std::string::npos) << message;
    EXPECT_NE(message.find("not that of their whole domain 0"), std::string::npos) << message;
}

TEST(machine_toml, what_a_model_of_the_machine_counts_with) {
    const weft::machine usual = weft::parse_toml("name = 'm'\n[regular]\ncores_per_domain = 2\n", "m.toml");
    EXPECT_GT(usual.charges().spawn, 0);
    EXPECT_EQ(usual.model().block_bytes, 4096);
    const weft::machine m =
        weft::parse_toml("name = 'm'\n[regular]\ncores_per_domain = 2\n"
                         "[[cache]]\nlevel = 3\nbytes = '1 MiB'\nshared_by = 'domain'\n"
                         "shared_bandwidth_gbps = 30\nreplacement = 'random'\n"
                         "[charges]\nspawn_ns = 0\nsignal_ns = 1234.5\n"
                         "[model]\nblock_bytes = '1 KiB'\nloads_in_flight = 4\nhost_speed = 1.5\n"
                         "work_per_cycle = 0.5\nvector_work_per_cycle = 0.25\noverlap = 0.75\n",
                         "m.toml");
    EXPECT_EQ(m.charges().spawn, 0);
    EXPECT_EQ(m.charges().signal, 1234.5);
    EXPECT_EQ(m.charges().fork, usual.charges().fork);
    EXPECT_EQ(m.caches()[0].shared_bandwidth_gbps, 30);
    EXPECT_EQ(m.model().block_bytes, 1024);
    EXPECT_EQ(m.model().loads_in_flight, 4);
    EXPECT_EQ(m.caches()[0].replaces, weft::replacement::random);
    EXPECT_EQ(m.model().host_speed, 1.5);
    EXPECT_EQ(usual.model().work_per_cycle, 1);
    EXPECT_EQ(m.model().work_per_cycle, 0.5);
    EXPECT_FALSE(usual.model().vector_work_per_cycle);
    EXPECT_EQ(m.model().vector_work_per_cycle, 0.25);
    EXPECT_EQ(usual.model().overlap, 0);
    EXPECT_EQ(m.model().overlap, 0.75);
}

TEST(machine_toml, the_smallest_file) {
    const weft::machine m =
        weft::parse_toml("name = 'm'\n[regular]\npackages = 2\ncores_per_domain = 3\n", "m.toml");
    EXPECT_EQ(m.size(), 6);
    EXPECT_EQ(m.memory_nodes().size(), 2u);
    EXPECT_EQ(m.last_level_cache_of(0), nullptr);
    EXPECT_DOUBLE_EQ(m.node_distance(0, 1), 20);
    EXPECT_FALSE(m.node_latency_ns(0, 1));
    EXPECT_FALSE(m.steal_latency_ns(0, 5));
    EXPECT_FALSE(m.cluster());
    EXPECT_FALSE(m.is_heterogeneous());
}

TEST(machine_toml, domains_may_mix_classes_and_caches_go_by_class) {
    const weft::machine m = weft::parse_toml(R"(
name = "hybrid"
core_class = [{ name = "p", speed = 1.0 }, { name = "e", speed = 0.5, memory_speed = 0.8 }]
[[domain]]
count = 2
cores = [{ class = "p", count = 2, threads_per_core = 2 }, { class = "e", count = 4 }]
[[cache]]
level = 3
bytes = "30 MiB"
shared_by = "domain"
[[cache]]
level = 2
bytes = "2 MiB"
class = "p"
[[cache]]
level = 2
bytes = "4 MiB"
class = "e"
shared_by = 4
)",
                                             "m.toml");
    EXPECT_EQ(m.size(), 16);
    EXPECT_EQ(m.domains().size(), 2u);
    EXPECT_EQ(m.physical_cores(), 12);
    EXPECT_EQ(m.cache_of(0, 2)->shared_by, (weft::rank_range{0, 2}));
    EXPECT_EQ(m.cache_of(5, 2)->shared_by, (weft::rank_range{4, 8}));
    EXPECT_EQ(m.caches().front().level, 2);
    EXPECT_DOUBLE_EQ(m.speed_of(4), 0.5);
    EXPECT_DOUBLE_EQ(m.speed_of(4, weft::work_kind::compute), 0.5);
    EXPECT_DOUBLE_EQ(m.speed_of(4, weft::work_kind::memory), 0.8);
    EXPECT_DOUBLE_EQ(m.distance(0, 1), 0);
    EXPECT_DOUBLE_EQ(m.distance(4, 5), 1);
    EXPECT_DOUBLE_EQ(m.distance(0, 2), 2);
    EXPECT_DOUBLE_EQ(m.distance(0, 8), 3);
}

TEST(machine_toml, ways_of_data_between_nodes) {
    const std::string text = "name = 'm'\n[regular]\npackages = 4\ncores_per_domain = 1\n[distance]\n";
    const weft::machine m =
        weft::parse_toml(text + "routes = [[0, 1, 3], [3, 2, 0]]\nline_overhead_bytes = 30\n", "m.toml");
    ASSERT_NE(m.node_route(3, 0), nullptr);
    EXPECT_EQ(*m.node_route(3, 0), (std::vector{0, 1, 3}));
    EXPECT_EQ(*m.node_route(0, 3), (std::vector{3, 2, 0}));
    EXPECT_EQ(m.node_route(0, 1), nullptr);
    EXPECT_EQ(m.parts().line_overhead_bytes, 30);
    for (const char* wrong : {"[0, 1, 3]", "[[0, 1, 4]]", "[[0, 1.5, 3]]", "[[0, 'b', 3]]", "7"})
        EXPECT_NE(refusal_of(text + "routes = " + wrong + "\n").find("distance.routes"), std::string::npos)
            << wrong;
}

TEST(machine_toml, matrices_between_nodes_and_domains) {
    const weft::machine m = weft::parse_toml(R"(
name = "two"
[regular]
packages = 2
cores_per_domain = 2
[[memory_node]]
count = 2
bandwidth_gbps = 40
latency_ns = 80
[distance]
nodes = [[10, 16], [16, 10]]
remote_bandwidth_gbps = 10
[steal]
matrix_ns = [[50, 200], [200, 60]]
)",
                                             "m.toml");
    EXPECT_DOUBLE_EQ(m.distance(0, 2), 4.6);
    EXPECT_DOUBLE_EQ(m.node_latency_ns(0, 0).value(), 80);
    EXPECT_DOUBLE_EQ(m.node_latency_ns(0, 1).value(), 128);
    EXPECT_DOUBLE_EQ(m.node_bandwidth_gbps(1, 1).value(), 40);
    EXPECT_DOUBLE_EQ(m.node_bandwidth_gbps(1, 0).value(), 10);
    EXPECT_DOUBLE_EQ(m.steal_latency_ns(0, 0).value(), 0);
    EXPECT_DOUBLE_EQ(m.steal_latency_ns(0, 1).value(), 50);
    EXPECT_DOUBLE_EQ(m.steal_latency_ns(2, 3).value(), 60);
    EXPECT_DOUBLE_EQ(m.steal_latency_ns(3, 0).value(), 200);
}

} // namespace
