// What a model charges where the machine's description is silent, and the machine file that repeats it.
#include "machine/figures.hpp"
#include "machine/load.hpp"
#include "machine/machine_files.hpp"
#include "machine/write_toml.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace weft {
namespace {

const figure* find(const std::vector<figure>& all, std::string_view name) {
    const auto found = std::ranges::find(all, name, &figure::name);
    return found == all.end() ? nullptr : &*found;
}

/// "typical 85", or "-" if there is no such figure.
std::string told(const machine& m, std::string_view name) {
    const auto all = figures_of(m);
    const figure* const f = find(all, name);
    if (f == nullptr) return "-";
    std::string text = name_of(f->source);
    if (f->value) {
        std::string number = std::to_string(*f->value);
        number.resize(number.find_last_not_of("0") + 1);
        if (number.back() == '.') number.pop_back();
        text += " " + number;
    }
    return text;
}

TEST(machine_figures, a_synthetic_machine_is_all_typical) {
    const machine m = with_typical_figures(load_synthetic("numa:4 l3:1 core:8 l1:1 pu:1"));
    EXPECT_EQ(told(m, "core_class.frequency_mhz"), "typical 3000");
    EXPECT_EQ(told(m, "memory_node.latency_ns"), "typical 85");
    EXPECT_EQ(told(m, "memory_node.bandwidth_gbps"), "typical 32"); // 4 for each of 8 cores
    EXPECT_EQ(told(m, "distance.remote_latency_ns").substr(0, 7), "typical");
    EXPECT_EQ(told(m, "cache.L1.latency_ns"), "typical 1.333333"); // 4 cycles
    EXPECT_EQ(told(m, "cache.L3.latency_ns"), "typical 16.666667");
    EXPECT_EQ(told(m, "cache.L2.latency_ns"), "-");
    EXPECT_EQ(told(m, "charges.fork_ns"), "typical 1.5");
    EXPECT_EQ(told(m, "model.block_bytes"), "typical 4096");
    for (const figure& f : figures_of(m)) EXPECT_NE(f.source, figure_source::none) << f.name;
    EXPECT_GT(*m.node_latency_ns(0, 1), *m.node_latency_ns(0, 0));
    EXPECT_TRUE(m.steal_latency_ns(0, 9));
}

TEST(machine_figures, a_machine_without_caches_says_so) {
    const machine m = with_typical_figures(load_synthetic("core:2 pu:1"));
    EXPECT_EQ(told(m, "cache"), "none");
    EXPECT_EQ(told(m, "memory_node.bandwidth_gbps"), "typical 12"); // at least
}

TEST(machine_figures, steals_are_those_that_the_shape_has) {
    const machine m = with_typical_figures(load_synthetic("pack:2 [numa] core:2 pu:1"));
    EXPECT_EQ(told(m, "distance.remote"), "typical 20");
    EXPECT_EQ(told(m, "steal.other_package_ns"), "typical 300");
    EXPECT_EQ(told(m, "steal.same_domain_ns"), "typical 120");
    EXPECT_EQ(told(m, "steal.same_package_ns"), "-"); // a package has one domain
}

TEST(machine_figures, a_machine_file_is_taken_at_its_word) {
    const machine m =
        with_typical_figures(parse_toml("name = 'm'\n[[core_class]]\nname = 'c'\nfrequency_mhz = 1000\n"
                                        "[regular]\ncores_per_domain = 2\n"
                                        "[charges]\nfork_ns = 7\n",
                                        "m.toml"));
    EXPECT_EQ(told(m, "core_class.frequency_mhz"), "file 1000");
    EXPECT_EQ(told(m, "memory_node.latency_ns"), "none"); // costs nothing, as it always did
    EXPECT_EQ(told(m, "charges.fork_ns"), "file 7");
    EXPECT_EQ(told(m, "charges.spawn_ns"), "typical 24");
    EXPECT_EQ(told(m, "model.host_speed"), "typical 1");
    const machine bare =
        with_typical_figures(parse_toml("name = 'm'\n[regular]\ncores_per_domain = 2\n", "m.toml"));
    EXPECT_EQ(told(bare, "core_class.frequency_mhz"), "typical 3000");
}

TEST(machine_figures, unequal_cores_and_caches_have_indices) {
    const machine m = with_typical_figures(load_machine("hikey960"));
    EXPECT_EQ(told(m, "core_class[0].frequency_mhz"), "file 2362");
    EXPECT_EQ(told(m, "core_class[1].frequency_mhz"), "file 1844");
}

TEST(machine_figures, what_was_measured_comes_first) {
    const machine m = with_typical_figures(with_calibrated_figures(load_synthetic("l2:1 core:2 pu:1"),
                                                                   {{"core_class.frequency_mhz", 2000},
                                                                    {"charges.fork_ns", 3},
                                                                    {"steal.same_domain_ns", 55},
                                                                    {"cache.L7.latency_ns", 9}},
                                                                   "2026-01-31"));
    EXPECT_EQ(told(m, "core_class.frequency_mhz"), "calibrated 2000");
    EXPECT_EQ(told(m, "charges.fork_ns"), "calibrated 3");
    EXPECT_EQ(told(m, "steal.same_domain_ns"), "calibrated 55");
    EXPECT_EQ(told(m, "cache.L2.latency_ns"), "typical 7"); // 14 cycles of that clock
    EXPECT_EQ(m.parts().calibrated_on, "2026-01-31");
}

TEST(machine_figures, what_was_measured_of_caches_and_loads) {
    const machine here = load_synthetic("l3:1 l2:2 pu:1");
    const auto bytes_of = [](const machine& m, int level) {
        return std::ranges::find(m.caches(), level, &cache::level)->bytes;
    };
    const machine m = with_typical_figures(
        with_calibrated_figures(here,
                                {{"cache.L3.bytes", static_cast<double>(bytes_of(here, 3)) * 0.4},
                                 {"cache.L2.bandwidth_gbps", 110},
                                 {"cache.L3.bandwidth_gbps", 80},
                                 {"cache.L3.shared_bandwidth_gbps", 150},
                                 {"model.loads_in_flight", 77},
                                 {"model.overlap", 0.9}},
                                "2026-01-31"));
    EXPECT_EQ(told(m, "cache.L2.bandwidth_gbps"), "calibrated 110");
    EXPECT_EQ(told(m, "cache.L3.bandwidth_gbps"), "calibrated 80");
    EXPECT_EQ(told(m, "cache.L3.shared_bandwidth_gbps"), "calibrated 150");
    EXPECT_EQ(told(m, "model.loads_in_flight"), "calibrated 77");
    EXPECT_EQ(told(m, "model.overlap"), "calibrated 0.9");
    EXPECT_EQ(told(m, "model.block_bytes"), "typical 4096");
    // What others have of the last cache is not there; of the rest a random block leaves.
    EXPECT_LE(bytes_of(m, 3), bytes_of(here, 3) * 2 / 5);
    EXPECT_GT(bytes_of(m, 3), bytes_of(here, 3) * 2 / 5 - 65'536);
    EXPECT_EQ(std::ranges::find(m.caches(), 3, &cache::level)->replaces, replacement::random);
    EXPECT_EQ(std::ranges::find(m.caches(), 2, &cache::level)->replaces, replacement::lru);
    EXPECT_EQ(bytes_of(m, 2), bytes_of(here, 2));
    // A measurement cannot find more than there is, and a cache of no bytes is none.
    for (const double measured : {0.0, 1e12}) {
        const machine other = with_calibrated_figures(here, {{"cache.L3.bytes", measured}}, "2026-01-31");
        EXPECT_EQ(bytes_of(other, 3), measured > 0 ? bytes_of(here, 3) : 65'536);
    }
}

TEST(machine_figures, many_of_a_kind_are_told_as_one) {
    const auto all = figures_of(with_typical_figures(load_synthetic("core:2 pu:1")));
    const std::string text = describe(all, figure_source::typical);
    EXPECT_NE(text.find("charges (13), model (4)"), std::string::npos) << text;
    EXPECT_NE(text.find("core_class.frequency_mhz 3000, "), std::string::npos) << text;
    EXPECT_EQ(describe(all, figure_source::none), "cache");
    EXPECT_EQ(describe(all, figure_source::calibrated), "");
}

TEST(machine_figures, the_page_has_the_typical_figures) {
    std::ifstream in(WEFT_SOURCE_DIR "/docs/modelled-machines.md");
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    for (const char* const row :
         {"| `core_class.frequency_mhz` | 3000 |", "| `cache.L1.latency_ns` | 4 cycles |",
          "| `cache.L2.latency_ns` | 14 cycles |", "| `cache.L3.latency_ns` and further | 50 cycles |",
          "| `memory_node.latency_ns` | 85 |",
          "| `memory_node.bandwidth_gbps` | 4 for each core of a node, at least 12 |",
          "| `steal.same_domain_ns` | 120 |", "| `steal.same_package_ns` | 200 |",
          "| `steal.other_package_ns` | 300 |"})
        EXPECT_NE(page.find(row), std::string::npos) << row;
}

/// The two machines are the same for a model.
void expect_same(const machine& a, const machine& b) {
    const auto of_a = figures_of(a), of_b = figures_of(b);
    for (const figure& f : of_a) {
        const figure* const its = find(of_b, f.name);
        ASSERT_NE(its, nullptr) << f.name;
        EXPECT_EQ(f.value, its->value) << f.name; // to the last bit
    }
    EXPECT_EQ(of_a.size(), of_b.size());
    EXPECT_EQ(a.name(), b.name());
    EXPECT_EQ(a.size(), b.size());
    for (int r = 0; r < a.size(); ++r)
        for (int s = 0; s < a.size(); ++s) {
            EXPECT_EQ(a.distance(r, s), b.distance(r, s));
            EXPECT_EQ(a.steal_latency_ns(r, s), b.steal_latency_ns(r, s));
        }
    for (int n = 0; n < static_cast<int>(a.memory_nodes().size()); ++n)
        for (int k = 0; k < static_cast<int>(a.memory_nodes().size()); ++k) {
            EXPECT_EQ(a.node_distance(n, k), b.node_distance(n, k));
            EXPECT_EQ(a.node_latency_ns(n, k), b.node_latency_ns(n, k));
            EXPECT_EQ(a.node_bandwidth_gbps(n, k), b.node_bandwidth_gbps(n, k));
            const auto* const route = a.node_route(n, k);
            ASSERT_EQ(route == nullptr, b.node_route(n, k) == nullptr);
            if (route) { EXPECT_EQ(*route, *b.node_route(n, k)); }
        }
}

class written_machine : public testing::TestWithParam<std::string> {};

TEST_P(written_machine, is_read_as_the_same) {
    const machine m = with_typical_figures(load_machine(GetParam()));
    const std::string text = to_toml(m);
    const machine again = parse_toml(text, "written");
    expect_same(m, with_typical_figures(again));
    EXPECT_EQ(to_toml(again), to_toml(parse_toml(to_toml(again), "written again")));
    for (const figure& f : figures_of(again))
        EXPECT_TRUE(f.source != figure_source::calibrated &&
                    (f.source != figure_source::typical || f.name.starts_with("distance.")))
            << f.name;
}

std::vector<std::string> all_machines() {
    std::vector<std::string> all = {"this", "core:2 pu:1", "numa:4 core:8 pu:1",
                                    "pack:2 [numa] l3:2 l2:2 core:2 pu:2", "pack:2 numa:2 l3:1 core:3 pu:1"};
    for (const machine_file& f : machine_files()) all.push_back(f.name);
    return all;
}
INSTANTIATE_TEST_SUITE_P(all, written_machine, testing::ValuesIn(all_machines()),
                         [](const auto& which) { return "machine_" + std::to_string(which.index); });

TEST(machine_writing, defaults_are_marked) {
    const machine m = with_typical_figures(
        with_calibrated_figures(load_synthetic("core:2 pu:1"), {{"charges.fork_ns", 3}}, "2026-01-31"));
    const std::string text = to_toml(m);
    EXPECT_NE(text.find("fork_ns = 3 # measured on 2026-01-31\n"), std::string::npos) << text;
    EXPECT_NE(text.find("spawn_ns = 24 # typical\n"), std::string::npos) << text;
}

TEST(machine_writing, what_the_format_has_no_words_for_is_refused) {
    machine_parts parts = load_synthetic("pack:2 l3:1 core:2 pu:1").parts();
    parts.caches.back().bytes *= 2; // of one of two packages with the same cores
    EXPECT_THROW(to_toml(machine(parts)), error);
}

} // namespace
} // namespace weft
