#include "machine_dict.hpp"

#include "machine/describe.hpp"
#include "machine/workers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace weft {
namespace {

nb::tuple pair(rank_range r) { return nb::make_tuple(r.first, r.last); }

template <class Range, class Each>
nb::list list_of(const Range& range, Each&& each) {
    nb::list all;
    for (const auto& one : range) all.append(each(one));
    return all;
}

} // namespace

nb::dict as_dict(const machine& m) {
    nb::dict d;
    d["name"] = m.name();
    d["description"] = m.description();
    d["ranks"] = m.size();
    d["cores"] = m.physical_cores();
    d["workers"] = default_workers(m);
    d["modelled"] = m.is_modelled();
    d["quota"] = nb::cast(m.cpu_quota());
    d["packages"] = list_of(m.packages(), [](const package& p) {
        nb::dict one;
        one["ranks"] = pair(p.ranks);
        one["domains"] = nb::make_tuple(p.first_domain, p.last_domain);
        return one;
    });
    d["domains"] = list_of(m.domains(), [](const cache_domain& c) {
        nb::dict one;
        one["ranks"] = pair(c.ranks);
        one["package"] = c.package;
        one["memory_node"] = c.memory_node;
        return one;
    });
    d["caches"] = list_of(m.caches(), [](const cache& c) {
        nb::dict one;
        one["level"] = c.level;
        one["bytes"] = c.bytes;
        one["line_bytes"] = c.line_bytes;
        one["ways"] = c.ways;
        one["ranks"] = pair(c.shared_by);
        one["latency_ns"] = nb::cast(c.latency_ns);
        one["bandwidth_gbps"] = nb::cast(c.bandwidth_gbps);
        return one;
    });
    d["memory_nodes"] = list_of(m.memory_nodes(), [](const memory_node& n) {
        nb::dict one;
        one["kind"] = n.kind;
        one["bytes"] = n.bytes;
        one["ranks"] = pair(n.ranks);
        one["latency_ns"] = nb::cast(n.latency_ns);
        one["bandwidth_gbps"] = nb::cast(n.bandwidth_gbps);
        return one;
    });
    nb::list distances;
    const int nodes = static_cast<int>(m.memory_nodes().size());
    for (int from = 0; from < nodes; ++from) {
        nb::list row;
        for (int to = 0; to < nodes; ++to) row.append(m.node_distance(from, to));
        distances.append(row);
    }
    d["node_distances"] = distances;
    d["core_classes"] = list_of(m.core_classes(), [](const core_class& c) {
        nb::dict one;
        one["name"] = c.name;
        one["speed"] = c.speed;
        one["frequency_mhz"] = c.frequency_mhz;
        return one;
    });
    d["class_of_rank"] = list_of(m.cores(), [](const core& c) { return c.core_class; });
    d["devices"] = list_of(m.devices(), [](const device& v) {
        nb::dict one;
        one["name"] = v.name;
        one["kind"] = v.kind;
        one["count"] = v.count;
        one["memory_bytes"] = v.memory_bytes;
        return one;
    });
    d["text"] = describe(m);
    return d;
}

nb::list as_list(const std::vector<figure>& figures) {
    return list_of(figures, [](const figure& f) {
        nb::dict one;
        one["figure"] = f.name;
        one["value"] = nb::cast(f.value);
        one["source"] = name_of(f.source);
        return one;
    });
}

} // namespace weft
