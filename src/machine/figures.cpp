#include "machine/figures.hpp"
#include "machine/index.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <utility>

namespace weft {

namespace {

bool equal(const std::optional<double>& a, const std::optional<double>& b) {
    return a.has_value() == b.has_value() && (!a || !(*a < *b || *a > *b));
}

std::optional<double> if_known(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

class lister {
public:
    explicit lister(const machine& m) : m_(m) {}

    std::vector<figure> all() {
        const machine_parts& p = m_.parts();
        each("core_class", "frequency_mhz", p.core_classes,
             [](const core_class& c) { return if_known(c.frequency_mhz); });
        each("memory_node", "latency_ns", p.memory_nodes, [](const memory_node& n) { return n.latency_ns; });
        each("memory_node", "bandwidth_gbps", p.memory_nodes,
             [](const memory_node& n) { return n.bandwidth_gbps; });
        if (p.memory_nodes.size() > 1) distances();
        caches();
        steals();
        for (const charge_key& c : charge_keys) add(fmt::format("charges.{}", c.key), p.charges.*c.charge);
        for (const preemption_key& k : preemption_keys)
            if (p.preemption.*k.charge > 0) add(fmt::format("preemption.{}", k.key), p.preemption.*k.charge);
        add("model.block_bytes", static_cast<double>(p.model.block_bytes));
        add("model.loads_in_flight", p.model.loads_in_flight);
        add("model.host_speed", p.model.host_speed);
        add("model.work_per_cycle", p.model.work_per_cycle);
        if (p.model.vector_work_per_cycle) add("model.vector_work_per_cycle", p.model.vector_work_per_cycle);
        if (p.model.overlap > 0) add("model.overlap", p.model.overlap);
        return std::move(figures_);
    }

private:
    figure_source source_of(std::string_view name, bool is_known) const {
        for (const default_figure& d : m_.parts().defaults)
            if (d.name == name) return d.source;
        return is_known ? figure_source::file : figure_source::none;
    }

    bool is_calibrated(std::string_view name) const {
        return source_of(name, true) == figure_source::calibrated;
    }

    void add(const std::string& name, std::optional<double> value) {
        figures_.push_back({name, value, source_of(name, value.has_value())});
    }

    template <class Range, class Value>
    void each(const std::string& table, const std::string& key, const Range& instances, Value value) {
        const std::string name = table + "." + key;
        const auto first = value(*instances.begin());
        if (std::ranges::all_of(instances, [&](const auto& i) { return equal(value(i), first); }))
            return add(name, first);
        int index = 0;
        for (const auto& i : instances) {
            const auto its = value(i);
            figures_.push_back(
                {fmt::format("{}[{}].{}", table, index++, key), its, source_of(name, its.has_value())});
        }
    }

    void distances() {
        const machine_parts& p = m_.parts();
        const auto remote = [&](const char* key, const std::vector<double>& given,
                                std::optional<double> value) {
            figures_.push_back({fmt::format("distance.{}", key), value,
                                !given.empty() ? figure_source::file
                                : value        ? figure_source::typical // scaled by the distance
                                               : figure_source::none});
        };
        remote("remote", p.node_distances, m_.node_distance(0, 1));
        remote("remote_latency_ns", p.node_latency_ns, m_.node_latency_ns(0, 1));
        remote("remote_bandwidth_gbps", p.node_bandwidth_gbps, m_.node_bandwidth_gbps(0, 1));
        if (p.line_overhead_bytes > 0) add("distance.line_overhead_bytes", p.line_overhead_bytes);
    }

    void caches() {
        const machine_parts& p = m_.parts();
        if (p.caches.empty()) return add("cache", std::nullopt);
        for (auto first = p.caches.begin(); first != p.caches.end();) {
            const auto last =
                std::find_if(first, p.caches.end(), [&](const cache& c) { return c.level != first->level; });
            const std::string level = fmt::format("cache.L{}", first->level);
            const std::span of_level(first, last);
            each(level, "latency_ns", of_level, [](const cache& c) { return c.latency_ns; });
            if (is_calibrated(level + ".bytes"))
                each(level, "bytes", of_level, [](const cache& c) { return std::optional<double>(c.bytes); });
            if (is_calibrated(level + ".bandwidth_gbps"))
                each(level, "bandwidth_gbps", of_level, [](const cache& c) { return c.bandwidth_gbps; });
            if (is_calibrated(level + ".shared_bandwidth_gbps"))
                each(level, "shared_bandwidth_gbps", of_level,
                     [](const cache& c) { return c.shared_bandwidth_gbps; });
            first = last;
        }
    }

    // Where no latency of steals is known, charges.look_away_ns is charged.
    void steals() {
        const std::vector<double>& all = m_.parts().steal_latency_ns;
        if (all.empty()) return;
        const std::size_t side = m_.domains().size();
        std::array<std::optional<double>, 3> of;
        bool is_regular = true;
        for (std::size_t a = 0; a < side; ++a)
            for (std::size_t b = 0; b < side; ++b) {
                const bool same_package = m_.domains()[a].package == m_.domains()[b].package;
                auto& value = of[a == b ? 0U : same_package ? 1U : 2U];
                is_regular = is_regular && (!value || equal(value, all[a * side + b]));
                value = all[a * side + b];
            }
        if (!is_regular) {
            figures_.push_back({"steal.matrix_ns", std::nullopt, figure_source::file});
            return;
        }
        constexpr std::array<const char*, 3> names = {"steal.same_domain_ns", "steal.same_package_ns",
                                                      "steal.other_package_ns"};
        for (std::size_t k = 0; k < names.size(); ++k)
            if (of[k]) add(names[k], of[k]);
    }

    const machine& m_;
    std::vector<figure> figures_;
};

class setter {
public:
    setter(machine_parts parts, const figure_values& values, figure_source source, bool overrides)
        : parts_(std::move(parts))
        , values_(values)
        , source_(source)
        , overrides_(overrides) {}

    machine_parts frequency() && {
        frequencies();
        return std::move(parts_);
    }

    machine_parts all() && {
        frequencies();
        each("memory_node.latency_ns", parts_.memory_nodes, &memory_node::latency_ns);
        each("memory_node.bandwidth_gbps", parts_.memory_nodes, &memory_node::bandwidth_gbps);
        for (cache& c : parts_.caches) {
            of_cache(c, "latency_ns", c.latency_ns);
            of_cache(c, "bandwidth_gbps", c.bandwidth_gbps);
            of_cache(c, "shared_bandwidth_gbps", c.shared_bandwidth_gbps);
            size(c);
        }
        if (parts_.steal_latency_ns.empty() || overrides_) steals();
        for (const charge_key& c : charge_keys) {
            const std::string name = fmt::format("charges.{}", c.key);
            if (const auto v = value(name); v && (overrides_ || !is_default(name)))
                parts_.charges.*c.charge = *v, from(name);
        }
        for (const char* key : {"block_bytes", "loads_in_flight", "host_speed", "work_per_cycle"})
            if (const std::string name = fmt::format("model.{}", key); value(name) && !is_default(name))
                from(name);
        if (overrides_) {
            of_model("loads_in_flight", parts_.model.loads_in_flight);
            of_model("overlap", parts_.model.overlap);
        }
        return std::move(parts_);
    }

private:
    std::optional<double> value(std::string_view name) const {
        const auto found = values_.find(name);
        return found == values_.end() ? std::nullopt : std::optional(found->second);
    }

    bool is_default(std::string_view name) const {
        return std::ranges::find(parts_.defaults, name, &default_figure::name) != parts_.defaults.end();
    }

    void from(const std::string& name) {
        const auto known = std::ranges::find(parts_.defaults, name, &default_figure::name);
        if (known == parts_.defaults.end())
            parts_.defaults.push_back({name, source_});
        else
            known->source = source_;
    }

    // The value is that of the fastest class; clocks of others follow their speeds. What was measured is the clock
    // of one core, so it says nothing where there are several classes.
    void frequencies() {
        const auto mhz = value("core_class.frequency_mhz");
        const core_class fastest = std::ranges::max(parts_.core_classes, {}, &core_class::speed);
        const bool overrides = overrides_ && parts_.core_classes.size() == 1;
        if (!mhz || (fastest.frequency_mhz > 0 && !overrides)) return;
        for (core_class& c : parts_.core_classes)
            if (!(c.frequency_mhz > 0) || overrides) c.frequency_mhz = *mhz * c.speed / fastest.speed;
        from("core_class.frequency_mhz");
    }

    void of_cache(const cache& c, const char* key, std::optional<double>& its) {
        const std::string name = fmt::format("cache.L{}.{}", c.level, key);
        if (const auto v = value(name); v && (!its || overrides_)) its = v, from(name);
    }

    // What was measured of a last cache is how much of it is to be had if a random block leaves for each that comes. In whole
    // parts of 64 KiB, and no more than the cache has.
    void size(cache& c) {
        constexpr std::int64_t part = 65'536;
        const std::string name = fmt::format("cache.L{}.bytes", c.level);
        const auto v = value(name);
        if (!v || !overrides_) return;
        c.bytes = std::clamp(static_cast<std::int64_t>(*v) / part * part, std::min(part, c.bytes), c.bytes);
        c.replaces = replacement::random;
        from(name);
    }

    void of_model(const char* key, double& its) {
        const std::string name = fmt::format("model.{}", key);
        if (const auto v = value(name)) its = *v, from(name);
    }

    template <class T>
    void each(const std::string& name, std::vector<T>& instances, std::optional<double> T::* member) {
        const auto v = value(name);
        if (!v) return;
        for (T& i : instances)
            if (!(i.*member) || overrides_) i.*member = v, from(name);
    }

    void steals() {
        const auto inside = value("steal.same_domain_ns"), near = value("steal.same_package_ns"),
                   far = value("steal.other_package_ns");
        const std::size_t side = index(parts_.cores.back().domain) + 1;
        std::vector<int> package_of(side);
        for (const core& c : parts_.cores) package_of[index(c.domain)] = c.package;
        const bool has_near = package_of.back() + 1 < static_cast<int>(side), has_far = package_of.back() > 0;
        if (!inside || (has_near && !near) || (has_far && !far)) return;
        parts_.steal_latency_ns.clear();
        for (std::size_t i = 0; i < side; ++i)
            for (std::size_t j = 0; j < side; ++j)
                parts_.steal_latency_ns.push_back(i == j                           ? *inside
                                                  : package_of[i] == package_of[j] ? *near
                                                                                   : *far);
        from("steal.same_domain_ns");
        if (has_near) from("steal.same_package_ns");
        if (has_far) from("steal.other_package_ns");
    }

    machine_parts parts_;
    const figure_values& values_;
    const figure_source source_;
    const bool overrides_;
};

} // namespace

const char* name_of(figure_source s) {
    constexpr std::array<const char*, 4> names = {"file", "calibrated", "typical", "none"};
    return names[static_cast<std::size_t>(s)];
}

std::vector<figure> figures_of(const machine& m) { return lister(m).all(); }

std::string describe(const std::vector<figure>& all, figure_source source) {
    std::string text;
    const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
    for (const char* table : {"charges.", "model."}) {
        const auto is_of = [&](const figure& f) { return f.name.starts_with(table); };
        const auto is_one = [&](const figure& f) { return f.source == source && is_of(f); };
        const auto count = std::ranges::count_if(all, is_one);
        if (count > 2)
            add(fmt::format("{} ({})", std::string_view(table).substr(0, std::string_view(table).size() - 1),
                            count));
    }
    const bool folds_charges = text.find("charges") != text.npos,
               folds_model = text.find("model") != text.npos;
    std::string single;
    for (const figure& f : all) {
        if (f.source != source || (folds_charges && f.name.starts_with("charges.")) ||
            (folds_model && f.name.starts_with("model.")))
            continue;
        single += f.name + (f.value ? fmt::format(" {:.4g}", *f.value) : "") + ", ";
    }
    if (text.empty() && !single.empty()) single.resize(single.size() - 2);
    return single + text;
}

figure_values typical_figures(const machine& m) {
    constexpr double mhz = 3000, memory_ns = 85, node_gbps_per_core = 4, least_node_gbps = 12;
    constexpr std::array<double, 3> cache_cycles = {4, 14, 50}; // by level; outer ones as the last
    constexpr double same_domain_ns = 120, same_package_ns = 200, other_package_ns = 300;

    figure_values values;
    const core_class& fastest = std::ranges::max(m.core_classes(), {}, &core_class::speed);
    values["core_class.frequency_mhz"] = mhz;
    const double clock = fastest.frequency_mhz > 0 ? fastest.frequency_mhz : mhz;
    for (const cache& c : m.caches())
        values[fmt::format("cache.L{}.latency_ns", c.level)] =
            cache_cycles[std::min(index(c.level), cache_cycles.size()) - 1] * 1e3 / clock;
    const auto nodes_with_cores =
        std::ranges::count_if(m.memory_nodes(), [](const memory_node& n) { return n.ranks.size() > 0; });
    values["memory_node.latency_ns"] = memory_ns;
    values["memory_node.bandwidth_gbps"] = std::max(
        least_node_gbps, node_gbps_per_core * m.physical_cores() / static_cast<double>(nodes_with_cores));
    values["steal.same_domain_ns"] = same_domain_ns;
    values["steal.same_package_ns"] = same_package_ns;
    values["steal.other_package_ns"] = other_package_ns;
    constexpr runtime_charges charges;
    for (const charge_key& c : charge_keys) values[fmt::format("charges.{}", c.key)] = charges.*c.charge;
    constexpr model_settings model;
    values["model.block_bytes"] = static_cast<double>(model.block_bytes);
    values["model.loads_in_flight"] = model.loads_in_flight;
    values["model.host_speed"] = model.host_speed;
    values["model.work_per_cycle"] = model.work_per_cycle;
    return values;
}

machine with_typical_figures(const machine& m) {
    const figure_values values = typical_figures(m);
    setter s(m.parts(), values, figure_source::typical, false);
    return machine(m.parts().absent_is_free ? std::move(s).frequency() : std::move(s).all());
}

machine with_calibrated_figures(const machine& m, const figure_values& values, const std::string& day) {
    machine_parts parts = setter(m.parts(), values, figure_source::calibrated, true).all();
    parts.calibrated_on = day;
    return machine(std::move(parts));
}

} // namespace weft
