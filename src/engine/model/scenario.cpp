#include "engine/model/scenario.hpp"

#include "machine/read_file.hpp"
#include "machine/toml_section.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

namespace {

constexpr number_range any_ms{0, 1e9, false};
constexpr number_range any_part{0, 1, false};
constexpr number_range any_factor{0, 1e3, false};
constexpr number_range any_mhz{0, 1e6, false};
constexpr number_range any_gbps{0, 1e9, false};

time_ns ns_of(double ms) { return static_cast<time_ns>(std::llround(ms * 1e6)); }

/// The ranks of the key "cores": "all", the name of a core class, or an array of ranks.
std::vector<int> ranks_of(const toml_section& s, const machine& m) {
    std::vector<int> ranks;
    if (s.is_string("cores")) {
        const std::string named = s.text("cores");
        for (int r = 0; r < m.size(); ++r)
            if (named == "all" || m.class_of(r).name == named) ranks.push_back(r);
        if (ranks.empty()) {
            std::string allowed = "\"all\", an array of ranks";
            for (const core_class& c : m.core_classes()) allowed += fmt::format(", \"{}\"", c.name);
            s.refuse("cores", "no such core class", allowed);
        }
        return ranks;
    }
    for (const double r : s.numbers("cores", {0, static_cast<double>(m.size() - 1), false})) {
        if (std::floor(r) < r)
            s.refuse("cores", "a rank is a whole number", fmt::format("{}", r), "0, 1, ...");
        ranks.push_back(static_cast<int>(r));
    }
    if (ranks.empty()) s.refuse("cores", "no cores are named", "\"all\", a core class, or an array of ranks");
    return ranks;
}

double speed_of(const toml_section& s, const machine& m, int rank) {
    if (s.has("frequency_mhz")) {
        if (s.has("speed")) s.refuse("frequency_mhz", "'speed' is given too", "one of the two");
        const double usual = m.class_of(rank).frequency_mhz;
        if (usual <= 0)
            s.refuse("frequency_mhz",
                     fmt::format("core class '{}' has no frequency_mhz", m.class_of(rank).name),
                     "'speed' instead");
        return s.number("frequency_mhz", any_mhz) / usual;
    }
    return s.number("speed", any_factor, 1);
}

void read_change(const toml_section& s, const machine& m, scenario& out) {
    const time_ns from = ns_of(s.number("at_ms", any_ms));
    const time_ns until = s.has("until_ms") ? ns_of(s.number("until_ms", any_ms)) : scenario::for_ever;
    if (until <= from) s.refuse("until_ms", "it ends before it begins", "later than at_ms");
    if (s.has("cores") == s.has("memory_node"))
        s.refuse(s.has("cores") ? "memory_node" : "", "a change concerns cores or a memory node",
                 s.has("cores") ? "both" : "neither", "either 'cores' or 'memory_node'");
    if (s.has("memory_node")) {
        for (const char* key : {"speed", "frequency_mhz", "load"})
            if (s.has(key)) s.refuse(key, "given for a memory node", "for cores only");
        const int node = s.count("memory_node", 0, static_cast<int>(m.memory_nodes().size()) - 1);
        const auto bandwidth = m.memory_nodes()[static_cast<std::size_t>(node)].bandwidth_gbps;
        if (!bandwidth) s.refuse("memory_node", "its bandwidth is unknown", "a node with bandwidth_gbps");
        const double gbps = s.number("taken_gbps", any_gbps);
        if (gbps >= *bandwidth && until == scenario::for_ever)
            s.refuse("taken_gbps", "no bandwidth would ever be left",
                     fmt::format("less than {}, or an until_ms", *bandwidth));
        out.nodes.push_back({from, until, node, gbps});
        return;
    }
    if (s.has("taken_gbps")) s.refuse("taken_gbps", "given for cores", "for a memory node only");
    if (!s.has("speed") && !s.has("frequency_mhz") && !s.has("load"))
        s.refuse("cores", "nothing changes", "neither speed, frequency_mhz nor load", "one of them");
    for (const int rank : ranks_of(s, m)) {
        const double speed = speed_of(s, m, rank), share = 1 - s.number("load", any_part, 0);
        if (!(speed * share > 0) && until == scenario::for_ever)
            s.refuse("cores", fmt::format("core {} would never run again", rank), "an until_ms");
        out.cores.push_back({from, until, rank, speed, share});
    }
}

} // namespace

scenario parse_scenario(std::string_view text, std::string_view name, const machine& m) {
    const toml::table table = parse_toml_table(text, name);
    const toml_section root(table, std::string(name), "", {"change"});
    scenario out;
    for (const toml_section& s :
         root.tables("change", {"at_ms", "until_ms", "cores", "speed", "frequency_mhz", "load", "memory_node",
                                "taken_gbps"}))
        read_change(s, m, out);
    return out;
}

scenario load_scenario(const std::filesystem::path& file, const machine& m) {
    return parse_scenario(read_file(file, "scenario", "a readable TOML file"), file.string(), m);
}

} // namespace weft::engine
