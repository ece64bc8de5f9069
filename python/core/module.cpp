#include "replay.hpp"

#include "machine/describe.hpp"
#include "machine/load.hpp"
#include "machine/workers.hpp"
#include "policy/registry.hpp"

#include <weft/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// weft._core: what Python takes from the library. What it returns is plain dicts, lists and arrays;
/// python/weft gives them their types.
namespace nb = nanobind;

namespace weft {
namespace {

nb::str str(std::string_view s) { return nb::str(s.data(), s.size()); }

// ---- policies

nb::list policies() {
    nb::list all;
    for (const policy_entry& e : policy_list()) {
        nb::list knobs;
        for (const knob& k : e.knobs) {
            nb::dict one;
            one["key"] = str(k.key);
            one["standard"] = str(k.standard);
            one["allowed"] = str(k.allowed);
            one["help"] = str(k.help);
            knobs.append(one);
        }
        nb::dict one;
        one["name"] = str(e.name);
        one["summary"] = str(e.summary);
        one["source"] = str(e.source);
        one["knobs"] = knobs;
        all.append(one);
    }
    return all;
}

// ---- machines

nb::tuple pair(rank_range r) { return nb::make_tuple(r.first, r.last); }

template <class Range, class Each>
nb::list list_of(const Range& range, Each&& each) {
    nb::list all;
    for (const auto& one : range) all.append(each(one));
    return all;
}

nb::dict machine_of(const std::string& spec) {
    const weft::machine m = load_machine(spec);
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

// ---- traces

/// A NumPy array that takes the vector over.
template <class T>
nb::object array(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    auto* const data = kept->data();
    const std::size_t size = kept->size();
    nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

using record_bytes =
    nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::shape<-1, 32>, nb::c_contig, nb::device::cpu>;

nb::dict replay_records(const record_bytes& records, int workers, bool complete) {
    static_assert(sizeof(trace::record) == 32);
    const std::span all(reinterpret_cast<const trace::record*>(records.data()), records.shape(0));
    trace::replayed r;
    {
        const nb::gil_scoped_release others_run;
        r = trace::replay(all, workers, complete);
    }
    nb::dict tasks, segments, idle, d;
    tasks["number"] = array(std::move(r.tasks.number));
    tasks["name"] = array(std::move(r.tasks.name));
    tasks["parent"] = array(std::move(r.tasks.parent));
    tasks["group"] = array(std::move(r.tasks.group));
    tasks["origin"] = array(std::move(r.tasks.origin));
    tasks["start"] = array(std::move(r.tasks.start));
    tasks["outcome"] = array(std::move(r.tasks.outcome));
    tasks["worker"] = array(std::move(r.tasks.worker));
    tasks["spawned"] = array(std::move(r.tasks.spawned));
    tasks["began"] = array(std::move(r.tasks.began));
    tasks["ended"] = array(std::move(r.tasks.ended));
    tasks["own"] = array(std::move(r.tasks.own));
    tasks["path"] = array(std::move(r.tasks.path));
    segments["worker"] = array(std::move(r.segments.worker));
    segments["task"] = array(std::move(r.segments.task));
    segments["begin"] = array(std::move(r.segments.begin));
    segments["end"] = array(std::move(r.segments.end));
    idle["worker"] = array(std::move(r.idle.worker));
    idle["asleep"] = array(std::move(r.idle.asleep));
    idle["begin"] = array(std::move(r.idle.begin));
    idle["end"] = array(std::move(r.idle.end));
    d["order"] = array(std::move(r.order));
    d["tasks"] = tasks;
    d["segments"] = segments;
    d["idle"] = idle;
    d["first"] = r.first;
    d["last"] = r.last;
    d["span"] = r.span;
    d["disorder"] = r.disorder;
    return d;
}

nb::list kind_names() {
    nb::list all;
    for (const char* name : trace::kind_names) all.append(nb::str(name));
    return all;
}

} // namespace
} // namespace weft

NB_MODULE(_core, m) {
    m.doc() = "The compiled part of weft.";
    m.attr("version") = WEFT_VERSION;
    m.attr("kind_names") = weft::kind_names();
    nb::exception<weft::error>(m, "Error");
    m.def("policies", &weft::policies, "The built-in policies, in the order in which they are listed.");
    m.def("machine", &weft::machine_of, nb::arg("spec"),
          "A machine as the library reads it: '' (this one), a .toml or .xml file, or an hwloc synthetic "
          "string.");
    m.def("replay", &weft::replay_records, nb::arg("records"), nb::arg("workers"), nb::arg("complete"),
          "What the records of a trace, n x 32 bytes, come to.");
}
