#include "gate/load_resources.hpp"

#include "machine/read_file.hpp"
#include "machine/toml_section.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace weft {

namespace {

constexpr std::int64_t most_amount = std::int64_t{1} << 60;

constexpr std::array<std::pair<const char*, scope>, 6> scopes = {{{"machine", scope::machine},
                                                                  {"package", scope::package},
                                                                  {"memory_node", scope::memory_node},
                                                                  {"cache", scope::cache},
                                                                  {"core", scope::core},
                                                                  {"device", scope::device}}};

/// One place of a resource, and where the machine describes it.
struct found_place {
    rank_range ranks{};
    int node = -1, device = -1; ///< indexes into the machine; -1: the place is of another scope
};

std::vector<found_place> places_of(scope per, const machine& m) {
    std::vector<found_place> places;
    switch (per) {
    case scope::machine: places.push_back({{0, m.size()}}); break;
    case scope::package:
        for (const package& p : m.packages()) places.push_back({p.ranks});
        break;
    case scope::memory_node:
        for (std::size_t i = 0; i < m.memory_nodes().size(); ++i)
            places.push_back({m.memory_nodes()[i].ranks, static_cast<int>(i)});
        break;
    case scope::cache:
        for (const cache_domain& d : m.domains()) places.push_back({d.ranks});
        break;
    case scope::core:
        for (int rank = 0; rank < m.size(); rank = places.back().ranks.last)
            places.push_back({m.siblings_of(rank)});
        break;
    case scope::device:
        for (std::size_t i = 0; i < m.devices().size(); ++i)
            for (int n = 0; n < m.devices()[i].count; ++n) places.push_back({{}, -1, static_cast<int>(i)});
        break;
    }
    return places;
}

/// How much of `what` a place has; nothing if the machine does not say it or the scope has none.
std::optional<double> probe(std::string_view what, scope per, const found_place& at, const machine& m) {
    const auto sum_over_nodes = [&](auto&& figure) -> std::optional<double> {
        double sum = 0;
        for (std::size_t i = 0; i < m.memory_nodes().size(); ++i) {
            if (per == scope::memory_node && at.node != static_cast<int>(i)) continue;
            const std::optional<double> one = figure(m.memory_nodes()[i]);
            if (!one || *one <= 0) return std::nullopt;
            sum += *one;
        }
        return sum;
    };
    if (what == "cores" && per != scope::device) return at.ranks.size();
    if (what == "cache_bytes" && (per == scope::cache || per == scope::machine)) {
        double sum = 0;
        for (const cache_domain& d : m.domains()) {
            const cache* const last = m.last_level_cache_of(d.ranks.first);
            if (per == scope::cache && d.ranks != at.ranks) continue;
            if (!last) return std::nullopt;
            sum += static_cast<double>(last->bytes);
        }
        return sum;
    }
    if (per == scope::machine || per == scope::memory_node) {
        if (what == "memory_bytes")
            return sum_over_nodes([](const memory_node& n) { return static_cast<double>(n.bytes); });
        if (what == "memory_gbps")
            return sum_over_nodes([](const memory_node& n) { return n.bandwidth_gbps; });
    }
    if (what == "device_memory_bytes" && per == scope::device)
        return static_cast<double>(m.devices()[static_cast<std::size_t>(at.device)].memory_bytes);
    if (what == "devices" && per == scope::machine) {
        int count = 0;
        for (const device& d : m.devices()) count += d.count;
        return count;
    }
    return std::nullopt;
}

std::int64_t amount_at(const toml_section& s, scope per, const found_place& at, const machine& m) {
    if (s.has("amount")) return s.whole("amount", 1, most_amount);
    const std::string what = s.one_of(
        "probe", {"cores", "cache_bytes", "memory_bytes", "memory_gbps", "devices", "device_memory_bytes"});
    const auto there_is = probe(what, per, at, m);
    const auto part = there_is.value_or(0) * s.number("share", {0, 1, true}, 1);
    const auto whole = static_cast<std::int64_t>(part);
    if (whole < 1)
        s.refuse("probe",
                 fmt::format("machine '{}' does not say this for such a place, or has none of it", m.name()),
                 "another 'per' or 'probe', or an 'amount'");
    return whole;
}

void read_resource(const toml_section& s, const machine& m, resource_table& out) {
    auto r = std::make_unique<resource>();
    r->name = s.text("name");
    if (r->name.empty()) s.refuse("name", "a resource has a name", "\"\"", "a text");
    if (r->name == "cores") s.refuse("name", "cores are asked for by weft::cores", "another name");
    if (out.find(r->name)) s.refuse("name", "there are two resources of this name", "names of their own");
    if (s.has("amount") == s.has("probe"))
        s.refuse(s.has("amount") ? "probe" : "", "how much there is", s.has("amount") ? "both" : "neither",
                 "either 'amount' or 'probe'");
    if (s.has("share") && !s.has("probe"))
        s.refuse("share", "there is no 'probe' of which it is a share", "an 'amount' alone");
    if (s.has("per")) {
        const std::string per =
            s.one_of("per", {"machine", "package", "memory_node", "cache", "core", "device"});
        for (const auto& [word, meaning] : scopes)
            if (per == word) r->per = meaning;
    }
    std::vector<found_place> places = places_of(r->per, m);
    if (s.has("only")) {
        std::set<std::size_t> chosen;
        for (const double n : s.numbers("only", {0, static_cast<double>(places.size()) - 1, false})) {
            if (std::floor(n) < n)
                s.refuse("only", "a place has a whole number", fmt::format("{}", n), "0, 1, ...");
            chosen.insert(static_cast<std::size_t>(n));
        }
        std::vector<found_place> some;
        for (const std::size_t i : chosen) some.push_back(places[i]);
        places = std::move(some);
    }
    r->at.clear();
    for (const found_place& p : places) {
        if (r->has_places() && p.ranks.size() == 0) continue; // memory without cores: no worker runs there
        r->at.push_back({.total = amount_at(s, r->per, p, m), .ranks = p.ranks});
    }
    if (r->at.empty())
        s.refuse(s.has("only") ? "only" : "per", fmt::format("machine '{}' has no such place", m.name()),
                 "places that it has");
    if (s.has("suspended")) r->rests = s.one_of("suspended", {"keep", "release"}) == "release";
    r->exceeds = s.boolean("oversubscribe", false);
    out.all.push_back(std::move(r));
}

void read_need(const toml_section& s, resource_table& out) {
    const std::string name = s.text("resource");
    resource* const r = out.find(name);
    if (!r) s.refuse("resource", "no such resource", '"' + name + '"', out.names());
    const std::string tasks = s.text("tasks");
    std::vector<class_need>& needs = out.needs[tasks];
    if (std::ranges::find(needs, r, &class_need::of) != needs.end())
        s.refuse("resource", fmt::format("tasks \"{}\" need it twice", tasks), '"' + name + '"', "each once");
    needs.push_back({r, s.has("amount") ? s.whole("amount", 1, most_amount) : 1});
}

} // namespace

resource_table parse_resources(std::string_view text, std::string_view name, const machine& m) {
    const toml::table parsed = parse_toml_table(text, name);
    const toml_section top(parsed, std::string(name), "",
                           {"resource", "exclusive", "needs", "reserve_after"});
    resource_table table;
    table.reserve_after = top.count("reserve_after", 1, 1'000'000, table.reserve_after);
    for (const toml_section& s : top.tables(
             "resource", {"name", "amount", "probe", "share", "per", "only", "suspended", "oversubscribe"}))
        read_resource(s, m, table);
    for (const toml_section& s : top.tables("exclusive", {"resources"})) {
        auto set = std::make_unique<exclusive_set>();
        for (const std::string& member : s.texts("resources")) {
            resource* const r = table.find(member);
            if (!r) s.refuse("resources", "no such resource", '"' + member + '"', table.names());
            if (r->set || std::ranges::find(set->members, r) != set->members.end())
                s.refuse("resources", "a resource is in one exclusive set, once", '"' + member + '"',
                         "every name once");
            set->members.push_back(r);
        }
        if (set->members.size() < 2)
            s.refuse("resources", "what excludes each other is more than one", "two names or more");
        for (resource* r : set->members) r->set = set.get();
        table.sets.push_back(std::move(set));
    }
    for (const toml_section& s : top.tables("needs", {"tasks", "resource", "amount"})) read_need(s, table);
    return table;
}

std::string read_resources(const std::filesystem::path& file) {
    return read_file(file, "the resources file", "a TOML file, see docs/resources.md", "WEFT_RESOURCES=");
}

resource_table load_resources(const std::filesystem::path& file, const machine& m) {
    return parse_resources(read_resources(file), file.string(), m);
}

} // namespace weft
