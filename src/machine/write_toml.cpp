#include "machine/write_toml.hpp"

#include "machine/figures.hpp"
#include "machine/load.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft {

namespace {

/// Whether two caches are the same but for their place.
bool alike(const cache& a, const cache& b) {
    const auto rest = [](const cache& c) {
        return std::tuple(c.level, c.bytes, c.line_bytes, c.ways, c.latency_ns, c.bandwidth_gbps,
                          c.shared_bandwidth_gbps, c.inclusive, c.replaces);
    };
    return rest(a) == rest(b);
}

class toml_writer {
public:
    explicit toml_writer(const machine& m) : m_(m), p_(m.parts()), figures_(figures_of(m)) {}

    std::string all() {
        put("name = {}", toml_string(p_.name));
        if (!p_.description.empty()) put("description = {}", toml_string(p_.description));
        classes();
        nodes();
        domains();
        distances();
        steals();
        caches();
        devices();
        disks();
        charges();
        preemption();
        time_sharing();
        exchange();
        model();
        cluster();
        return std::move(out_);
    }

private:
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
        out_ += '\n';
    }

    void begin(const char* table) { put("\n{}", table); }

    template <class Value>
    void known(const char* key, const std::optional<Value>& value, std::string_view figure = {}) {
        if (value) put("{} = {}{}", key, *value, comment(figure));
    }

    /// Where a default comes from.
    std::string comment(std::string_view name) const {
        for (const default_figure& d : p_.defaults)
            if (d.name == name)
                return d.source == figure_source::calibrated
                           ? fmt::format(" # measured on {}", p_.calibrated_on)
                           : fmt::format(" # {}", name_of(d.source));
        return "";
    }

    void classes() {
        for (const core_class& c : p_.core_classes) {
            begin("[[core_class]]");
            put("name = {}", toml_string(c.name));
            put("speed = {}", c.speed);
            known("compute_speed", c.compute_speed);
            known("memory_speed", c.memory_speed);
            if (c.frequency_mhz > 0)
                put("frequency_mhz = {}{}", c.frequency_mhz, comment("core_class.frequency_mhz"));
            if (!c.frequencies_mhz.empty()) put("frequencies_mhz = [{}]", fmt::join(c.frequencies_mhz, ", "));
        }
    }

    void nodes() {
        for (const memory_node& n : p_.memory_nodes) {
            begin("[[memory_node]]");
            put("kind = {}", toml_string(n.kind));
            if (n.bytes > 0) put("bytes = {}", n.bytes);
            known("latency_ns", n.latency_ns, "memory_node.latency_ns");
            known("bandwidth_gbps", n.bandwidth_gbps, "memory_node.bandwidth_gbps");
            if (n.ranks.size() == 0) put("only_memory = true");
        }
    }

    /// The cores of a domain, as runs of alike ones.
    std::string cores_of(const cache_domain& d) const {
        std::string text;
        for (int rank = d.ranks.first; rank < d.ranks.last;) {
            const int threads = m_.siblings_of(rank).size(), its = m_.core_at(rank).core_class;
            int next = rank, count = 0;
            while (next < d.ranks.last && m_.core_at(next).core_class == its &&
                   m_.siblings_of(next).size() == threads)
                next += threads, ++count;
            text +=
                fmt::format("{}{{ class = {}, count = {}, threads_per_core = {} }}", text.empty() ? "" : ", ",
                            toml_string(m_.class_of(rank).name), count, threads);
            rank = next;
        }
        return text;
    }

    void domains() {
        for (std::size_t d = 0; d < m_.domains().size();) {
            const cache_domain& first = m_.domains()[d];
            const std::string cores = cores_of(first);
            std::size_t last = d + 1;
            while (last < m_.domains().size() && m_.domains()[last].package == first.package &&
                   m_.domains()[last].memory_node == first.memory_node &&
                   cores_of(m_.domains()[last]) == cores)
                ++last;
            begin("[[domain]]");
            put("package = {}", first.package);
            put("memory_node = {}", first.memory_node);
            put("cores = [{}]", cores);
            if (last - d > 1) put("count = {}", last - d);
            d = last;
        }
    }

    void matrix(const char* key, const std::vector<double>& values, std::size_t side) {
        if (values.empty()) return;
        std::vector<std::string> rows;
        for (std::size_t i = 0; i < side; ++i)
            rows.push_back(fmt::format(
                "[{}]", fmt::join(values.begin() + static_cast<std::ptrdiff_t>(i * side),
                                  values.begin() + static_cast<std::ptrdiff_t>((i + 1) * side), ", ")));
        put("{} = [{}]", key, fmt::join(rows, ", "));
    }

    void distances() {
        if (p_.node_distances.empty() && p_.node_latency_ns.empty() && p_.node_bandwidth_gbps.empty() &&
            p_.node_routes.empty() && p_.line_overhead_bytes <= 0)
            return;
        begin("[distance]");
        const std::size_t side = p_.memory_nodes.size();
        matrix("nodes", p_.node_distances, side);
        matrix("latency_ns", p_.node_latency_ns, side);
        matrix("bandwidth_gbps", p_.node_bandwidth_gbps, side);
        if (!p_.node_routes.empty()) put("routes = {}", p_.node_routes);
        if (p_.line_overhead_bytes > 0) put("line_overhead_bytes = {}", p_.line_overhead_bytes);
    }

    void steals() {
        if (p_.steal_latency_ns.empty() && !p_.link_gbps) return;
        begin("[steal]");
        bool is_regular = false;
        for (const figure& f : figures_)
            if (f.name.starts_with("steal.") && f.value) {
                is_regular = true;
                put("{} = {}{}", std::string_view(f.name).substr(6), *f.value, comment(f.name));
            }
        if (!is_regular) matrix("matrix_ns", p_.steal_latency_ns, m_.domains().size());
        known("other_package_gbps", p_.link_gbps);
        if (p_.message_bytes > 0) put("message_bytes = {}", p_.message_bytes);
    }

    int cores_under(const cache& c) const {
        return m_.core_at(c.shared_by.last - 1).physical_core - m_.core_at(c.shared_by.first).physical_core +
               1;
    }

    bool is_whole_domain(const cache& c) const {
        return c.shared_by == m_.domains()[static_cast<std::size_t>(m_.domain_of(c.shared_by.first))].ranks;
    }

    void put_cache(const cache& c, bool of_domain, const std::string& its_class) {
        begin("[[cache]]");
        put("level = {}", c.level);
        if (!its_class.empty()) put("class = {}", toml_string(its_class));
        put("bytes = {}{}", c.bytes, comment(fmt::format("cache.L{}.bytes", c.level)));
        put("line_bytes = {}", c.line_bytes);
        if (c.ways > 0) put("ways = {}", c.ways);
        if (of_domain)
            put("shared_by = \"domain\"");
        else if (cores_under(c) > 1)
            put("shared_by = {}", cores_under(c));
        known("latency_ns", c.latency_ns, fmt::format("cache.L{}.latency_ns", c.level));
        known("bandwidth_gbps", c.bandwidth_gbps, fmt::format("cache.L{}.bandwidth_gbps", c.level));
        known("shared_bandwidth_gbps", c.shared_bandwidth_gbps,
              fmt::format("cache.L{}.shared_bandwidth_gbps", c.level));
        if (c.inclusive) put("inclusive = true");
        if (c.replaces == replacement::random) put("replacement = \"random\"");
    }

    void caches() {
        std::set<std::pair<int, int>> done; // level and class; class -1: of all
        for (const cache& c : p_.caches) {
            std::vector<const cache*> level;
            for (const cache& other : p_.caches)
                if (other.level == c.level) level.push_back(&other);
            const bool for_all =
                std::ranges::all_of(level, [&](const cache* o) { return alike(*o, c); }) && covers_all(level);
            const int its_class = for_all ? -1 : m_.core_at(c.shared_by.first).core_class;
            if (!done.insert({c.level, its_class}).second) continue;
            const bool of_domain =
                cores_under(c) > 1 && std::ranges::all_of(level, [&](const cache* o) {
                    return (!for_all && m_.core_at(o->shared_by.first).core_class != its_class) ||
                           is_whole_domain(*o);
                });
            put_cache(c, of_domain, for_all ? "" : m_.class_of(c.shared_by.first).name);
        }
    }

    bool covers_all(const std::vector<const cache*>& level) const {
        int ranks = 0;
        for (const cache* c : level) ranks += c->shared_by.size();
        return ranks == m_.size();
    }

    void devices() {
        for (const device& d : p_.devices) {
            begin("[[device]]");
            put("name = {}\nkind = {}\ncount = {}", toml_string(d.name), toml_string(d.kind), d.count);
            if (d.memory_bytes > 0) put("memory_bytes = {}", d.memory_bytes);
            if (d.compute_units > 0) put("compute_units = {}", d.compute_units);
            put("speed = {}", d.speed);
            known("bandwidth_gbps", d.bandwidth_gbps);
            known("link_bandwidth_gbps", d.link_bandwidth_gbps);
            known("link_latency_ns", d.link_latency_ns);
            known("launch_latency_ns", d.launch_latency_ns);
            if (d.memory_node >= 0) put("memory_node = {}", d.memory_node);
        }
    }

    void disks() {
        for (const disk& d : p_.disks) {
            begin("[[disk]]");
            put("name = {}\nbandwidth_gbps = {}", toml_string(d.name), d.bandwidth_gbps);
            known("latency_ns", d.latency_ns);
        }
    }

    void charges() {
        begin("[charges]");
        for (const charge_key& c : charge_keys)
            put("{} = {}{}", c.key, p_.charges.*c.charge, comment(fmt::format("charges.{}", c.key)));
    }

    void preemption() {
        const preemption_charges& of = p_.preemption;
        if (std::ranges::none_of(preemption_keys, [&](const preemption_key& k) { return of.*k.charge > 0; }))
            return;
        begin("[preemption]");
        for (const preemption_key& k : preemption_keys)
            if (of.*k.charge > 0) put("{} = {}", k.key, of.*k.charge);
    }

    void time_sharing() {
        const weft::time_sharing usual;
        const weft::time_sharing& of = p_.time_sharing;
        if (std::ranges::all_of(time_sharing_keys,
                                [&](const time_sharing_key& k) { return of.*k.value == usual.*k.value; }))
            return;
        begin("[time_sharing]");
        for (const time_sharing_key& k : time_sharing_keys) put("{} = {}", k.key, of.*k.value);
    }

    void exchange() {
        if (p_.exchange_ns == default_exchange_ns) return;
        begin("[exchange]");
        put("ns = {}", p_.exchange_ns);
    }

    void model() {
        begin("[model]");
        put("block_bytes = {}{}", p_.model.block_bytes, comment("model.block_bytes"));
        put("loads_in_flight = {}{}", p_.model.loads_in_flight, comment("model.loads_in_flight"));
        put("host_speed = {}{}", p_.model.host_speed, comment("model.host_speed"));
        put("work_per_cycle = {}{}", p_.model.work_per_cycle, comment("model.work_per_cycle"));
        known("vector_work_per_cycle", p_.model.vector_work_per_cycle);
        if (p_.model.overlap > 0) put("overlap = {}{}", p_.model.overlap, comment("model.overlap"));
    }

    void cluster() {
        if (!p_.cluster_of) return;
        const weft::cluster& c = *p_.cluster_of;
        begin("[cluster]");
        put("nodes = {}\nracks = {}", c.nodes, c.racks);
        put("network_latency_ns = {}\nnetwork_bandwidth_gbps = {}", c.network_latency_ns,
            c.network_bandwidth_gbps);
        known("rack_bandwidth_gbps", c.rack_bandwidth_gbps);
        for (const cluster_node_class& k : c.classes) {
            begin("[[cluster.node]]");
            put("name = {}\ncount = {}\nslots = {}\nspeed = {}", toml_string(k.name), k.count, k.slots,
                k.speed);
        }
    }

    const machine& m_;
    const machine_parts& p_;
    const std::vector<figure> figures_;
    std::string out_;
};

bool same(const core& a, const core& b) {
    return a.core_class == b.core_class && a.physical_core == b.physical_core && a.smt == b.smt &&
           a.package == b.package && a.domain == b.domain && a.memory_node == b.memory_node;
}

bool same(const cache& a, const cache& b) { return alike(a, b) && a.shared_by == b.shared_by; }

} // namespace

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < ' ')
            out += fmt::format("\\u{:04X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        else
            out += c;
    }
    return out + '"';
}

std::string to_toml(const machine& m) {
    std::string text = toml_writer(m).all();
    std::string lost;
    try {
        const machine again = parse_toml(text, m.name());
        const auto are_same = [](const auto& a, const auto& b) { return same(a, b); };
        if (!std::ranges::equal(m.cores(), again.cores(), are_same)) lost = "irregular cores";
        if (!std::ranges::equal(m.caches(), again.caches(), are_same)) lost = "irregular caches";
    } catch (const error& failure) { lost = failure.what(); }
    if (!lost.empty())
        throw error(fmt::format("machine '{}' cannot be written as a machine file", m.name()), lost,
                    "caches of a level that are alike for all cores of a class, and memory nodes of adjacent "
                    "cores");
    return text;
}

} // namespace weft
