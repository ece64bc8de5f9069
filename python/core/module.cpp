#include "machine_dict.hpp"
#include "python_policy.hpp"
#include "simulate.hpp"
#include "walk.hpp"

#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

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
            one["standard"] = str(k.default_value);
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

nb::dict walk_records(const record_bytes& records, int workers, bool complete) {
    static_assert(sizeof(trace::record) == 32);
    const std::span all(reinterpret_cast<const trace::record*>(records.data()), records.shape(0));
    trace::tables r;
    {
        const nb::gil_scoped_release others_run;
        r = trace::walk(all, workers, complete);
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
    segments["worker"] = array(std::move(r.segments.worker));
    segments["task"] = array(std::move(r.segments.task));
    segments["begin"] = array(std::move(r.segments.begin));
    segments["end"] = array(std::move(r.segments.end));
    idle["worker"] = array(std::move(r.idle.worker));
    idle["asleep"] = array(std::move(r.idle.asleep));
    idle["begin"] = array(std::move(r.idle.begin));
    idle["end"] = array(std::move(r.idle.end));
    nb::dict critical;
    critical["task"] = array(std::move(r.critical.task));
    critical["begin"] = array(std::move(r.critical.begin));
    critical["end"] = array(std::move(r.critical.end));
    d["critical"] = critical;
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
    nb::exception<weft::error>(m, "LibraryError").attr("__doc__") =
        "What the library refuses, in one line: what was wrong; given: ...; allowed: ...";
    m.def("policies", &weft::policies, "The built-in policies, in the order in which they are listed.");
    m.def("machine", &weft::machine_of, nb::arg("spec"),
          "A machine as the library reads it: '' (this one), a .toml or .xml file, or an hwloc synthetic "
          "string.");
    m.def("walk", &weft::walk_records, nb::arg("records"), nb::arg("workers"), nb::arg("complete"),
          "What the records of a trace, n x 32 bytes, come to.");
    weft::bind_policies(m);
    weft::bind_simulate(m);
}
