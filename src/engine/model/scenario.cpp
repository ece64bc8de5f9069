#include "engine/model/scenario.hpp"

#include "machine/bounds.hpp"
#include "machine/read_file.hpp"
#include "machine/toml_section.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

namespace {

constexpr number_range any_ms{0, 1e9};
constexpr number_range any_part{0, 1};
constexpr number_range any_factor{0, 1e3};
constexpr number_range new_mhz{0, 1e6};
constexpr number_range any_taken{0, 1e9};
/// What changes may leave of a core, unless it is nothing for a time: of its speed, and of its time.
constexpr double least_part = 1e-6;

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
        return s.number("frequency_mhz", new_mhz) / usual;
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
        const double gbps = s.number("taken_gbps", any_taken);
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

/// The times at which some of the changes begin or end, without `for_ever`.
template <class Change>
std::set<time_ns> times_of(const std::vector<Change>& changes) {
    std::set<time_ns> times;
    for (const Change& c : changes) {
        times.insert(c.from);
        if (c.until != scenario::for_ever) times.insert(c.until);
    }
    return times;
}

/// Whether one of the changes that hold at `at` has an end.
template <class Change>
bool is_for_ever(const std::vector<Change>& changes, time_ns at) {
    return std::ranges::none_of(
        changes, [at](const Change& c) { return at < c.until && c.until != scenario::for_ever; });
}

[[noreturn]] void refuse(std::string_view file, const std::string& what, time_ns at, const std::string& given,
                         const std::string& allowed) {
    throw error(fmt::format("{}: change: {} from {} ms on", file, what, static_cast<double>(at) * 1e-6),
                given, allowed);
}

/// The changes of one core, all together.
void check_core(std::string_view file, int rank, const std::vector<scenario::core_change>& changes) {
    for (const time_ns at : times_of(changes)) {
        double speed = 1, share = 1;
        for (const auto& c : changes)
            if (c.from <= at && at < c.until) speed *= c.speed, share *= c.share;
        if (speed >= least_part && share >= least_part) continue;
        const bool stands_still = std::ranges::any_of(changes, [at](const auto& c) {
            return c.from <= at && at < c.until && !(c.speed > 0 && c.share > 0);
        });
        if (!stands_still)
            refuse(file, fmt::format("core {} would hardly run", rank), at,
                   fmt::format("{:.3g} of its speed, {:.3g} of its time", speed, share),
                   fmt::format("{} or more of both, or nothing for a time", least_part));
        if (is_for_ever(changes, at))
            refuse(file, fmt::format("core {} would never run again", rank), at, "nothing of it is left",
                   "an until_ms");
    }
}

/// The same for the bandwidth of a memory node.
void check_node(std::string_view file, int node, double gbps,
                const std::vector<scenario::bandwidth_taken>& changes) {
    for (const time_ns at : times_of(changes)) {
        double taken = 0;
        for (const auto& c : changes)
            if (c.from <= at && at < c.until) taken += c.gbps;
        if (gbps - taken >= any_gbps.least) continue;
        if (taken < gbps)
            refuse(file, fmt::format("memory node {} would have hardly any bandwidth", node), at,
                   fmt::format("{:.3g} GB/s are left", gbps - taken),
                   fmt::format("{} or more, or nothing for a time", any_gbps.least));
        if (is_for_ever(changes, at))
            refuse(file, fmt::format("no bandwidth of memory node {} would ever be left", node), at,
                   fmt::format("{} GB/s taken", taken), fmt::format("less than {}, or an until_ms", gbps));
    }
}

void check_together(const scenario& all, const machine& m, std::string_view file) {
    std::vector<std::vector<scenario::core_change>> of_core(static_cast<std::size_t>(m.size()));
    for (const auto& c : all.cores) of_core[static_cast<std::size_t>(c.rank)].push_back(c);
    for (int rank = 0; rank < m.size(); ++rank)
        check_core(file, rank, of_core[static_cast<std::size_t>(rank)]);
    std::vector<std::vector<scenario::bandwidth_taken>> of_node(m.memory_nodes().size());
    for (const auto& c : all.nodes) of_node[static_cast<std::size_t>(c.memory_node)].push_back(c);
    for (std::size_t n = 0; n < of_node.size(); ++n)
        check_node(file, static_cast<int>(n), m.memory_nodes()[n].bandwidth_gbps.value_or(0), of_node[n]);
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
    check_together(out, m, name);
    return out;
}

scenario load_scenario(const std::filesystem::path& file, const machine& m) {
    return parse_scenario(read_file(file, "scenario", "a readable TOML file"), file.string(), m);
}

} // namespace weft::engine
