#include "machine_dict.hpp"
#include "record_bytes.hpp"
#include "simulate.hpp"
#include "views.hpp"

#include "machine/load.hpp"
#include "policy/seam/registry.hpp"
#include "trace/walk/walk.hpp"
#include "trace/write/record.hpp"

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

/// weft._core: what Python takes from the library. It returns plain dicts, lists and arrays; python/weft gives
/// them their types.
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
            one["default"] = str(k.default_value);
            one["allowed"] = str(k.allowed);
            one["help"] = str(k.help);
            knobs.append(one);
        }
        nb::dict one;
        one["name"] = str(e.name);
        one["summary"] = str(e.summary);
        one["source"] = str(e.source);
        one["wants"] = str(e.wants);
        one["helps"] = str(e.helps);
        one["knobs"] = knobs;
        all.append(one);
    }
    return all;
}

nb::dict machine_of(const std::string& spec) { return as_dict(load_machine(spec)); }

// ---- traces

/// A NumPy array that owns the values.
template <class T>
nb::object array(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    auto* const data = kept->data();
    const std::size_t size = kept->size();
    nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

nb::dict dict_of(trace::task_table&& t) {
    nb::dict d;
    d["number"] = array(std::move(t.number));
    d["name"] = array(std::move(t.name));
    d["parent"] = array(std::move(t.parent));
    d["group"] = array(std::move(t.group));
    d["origin"] = array(std::move(t.origin));
    d["start"] = array(std::move(t.start));
    d["outcome"] = array(std::move(t.outcome));
    d["worker"] = array(std::move(t.worker));
    d["spawned"] = array(std::move(t.spawned));
    d["began"] = array(std::move(t.began));
    d["ended"] = array(std::move(t.ended));
    d["own"] = array(std::move(t.own));
    return d;
}

nb::dict dict_of(trace::segment_table&& s) {
    nb::dict d;
    d["worker"] = array(std::move(s.worker));
    d["task"] = array(std::move(s.task));
    d["begin"] = array(std::move(s.begin));
    d["end"] = array(std::move(s.end));
    return d;
}

nb::dict dict_of(trace::idle_table&& i) {
    nb::dict d;
    d["worker"] = array(std::move(i.worker));
    d["asleep"] = array(std::move(i.asleep));
    d["begin"] = array(std::move(i.begin));
    d["end"] = array(std::move(i.end));
    return d;
}

nb::dict dict_of(trace::critical_path&& c) {
    nb::dict d;
    d["task"] = array(std::move(c.task));
    d["begin"] = array(std::move(c.begin));
    d["end"] = array(std::move(c.end));
    return d;
}

nb::dict walk_records(const record_bytes& records, int workers, bool complete) {
    trace::tables r;
    {
        const nb::gil_scoped_release others_run;
        r = trace::walk(as_records(records), workers, complete);
    }
    nb::dict d;
    d["critical"] = dict_of(std::move(r.critical));
    d["order"] = array(std::move(r.order));
    d["tasks"] = dict_of(std::move(r.tasks));
    d["segments"] = dict_of(std::move(r.segments));
    d["idle"] = dict_of(std::move(r.idle));
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
    nb::exception<weft::error>(m, "LibraryError").attr("__doc__") =
        "Why the library refuses something, in one line: what was wrong; given: ...; allowed: ...";
    m.def("policies", &weft::policies, "The built-in policies, in the order in which they are listed.");
    m.def("machine", &weft::machine_of, nb::arg("spec"),
          "A machine as the library reads it. spec: '' (this machine), a .toml or .xml file, or an hwloc "
          "synthetic string.");
    m.def("walk", &weft::walk_records, nb::arg("records"), nb::arg("workers"), nb::arg("complete"),
          "The tables of a trace: order, tasks, segments, idle stretches, critical path. records: n x 32 "
          "bytes; "
          "times in nanoseconds.");
    weft::bind_views(m);
    weft::bind_simulate(m);
}
