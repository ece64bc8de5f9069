#include "hook_scope.hpp"
#include "interleaved_memory.hpp"
#include "machine_dict.hpp"
#include "record_bytes.hpp"
#include "share.hpp"
#include "simulate.hpp"
#include "views.hpp"

#include "api/settings_file.hpp"
#include "calibrate/model_machine.hpp"
#include "machine/figures.hpp"
#include "machine/load.hpp"
#include "machine/machine_files.hpp"
#include "machine/write_toml.hpp"
#include "policy/seam/load_module.hpp"
#include "policy/seam/registry.hpp"
#include "trace/walk/walk.hpp"
#include "trace/write/record.hpp"

#include <weft/error.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cxxabi.h>

/// weft._core: what Python takes from the library. It returns plain dicts, lists and arrays; python/weft gives
/// them their types.
namespace nb = nanobind;

namespace weft {
namespace {

nb::str str(std::string_view s) { return nb::str(s.data(), s.size()); }

// ---- policies

nb::dict as_dict(const policy_entry& e) {
    nb::list knobs;
    for (const knob& k : e.knobs) {
        nb::dict one;
        one["key"] = str(k.key);
        one["default"] = str(k.default_value);
        one["allowed"] = str(k.allowed);
        one["help"] = str(k.help);
        knobs.append(one);
    }
    nb::dict d;
    d["name"] = str(e.name);
    d["summary"] = str(e.summary);
    d["source"] = str(e.source);
    d["wants"] = str(e.wants);
    d["helps"] = str(e.helps);
    d["knobs"] = knobs;
    return d;
}

nb::list policies(const std::string& module) {
    nb::list all;
    if (module.empty())
        for (const policy_entry& e : policy_list()) all.append(as_dict(e));
    else
        for (const policy_entry* e : load_policy_module(module)) all.append(as_dict(*e));
    return all;
}

void check_policy(const std::string& spec) { resolve_policy(spec); }

// ---- settings files

/// By the keys of the file.
nb::dict settings_of(const std::string& path) {
    nb::dict d;
    for (const api::file_setting& s : api::load_settings(path)) d[s.of->key] = s.value;
    return d;
}

// ---- machines

/// As described, with the figures of its model. `anew`: those of this machine are measured.
nb::dict machine_of(const std::string& spec, bool anew) {
    if (anew) hook_scope::refuse("measuring a machine");
    const machine modelled = model_machine(spec, anew ? calibrates::anew : calibrates::never);
    nb::dict d = as_dict(load_machine(spec));
    d["figures"] = as_list(figures_of(modelled));
    const std::string& day = modelled.parts().calibrated_on;
    d["calibrated_on"] = day.empty() ? nb::none() : nb::object(str(day));
    return d;
}

/// This machine is measured if it never was.
std::string machine_toml(const std::string& spec) {
    hook_scope::refuse("measuring a machine");
    return to_toml(model_machine(spec));
}

nb::list machine_files_found() {
    nb::list all;
    for (const machine_file& f : machine_files()) all.append(nb::make_tuple(f.name, f.path.string()));
    return all;
}

/// What a program that may not know the directories understands: a path for a name, else the specification itself.
std::string machine_path(const std::string& spec) {
    const std::string_view text = trimmed_machine_spec(spec);
    return is_machine_name(text) && !is_this_machine(text) ? find_machine_file(text).string() : spec;
}

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

// ---- symbols

nb::object demangle(const std::string& symbol) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
    if (!name || !symbol.starts_with("_Z")) return nb::none(); // else "i" would be the type int
    // Whatever bytes are in the symbol of a damaged file.
    return nb::steal(
        PyUnicode_DecodeUTF8(name.get(), static_cast<Py_ssize_t>(std::strlen(name.get())), "replace"));
}

} // namespace
} // namespace weft

NB_MODULE(_core, m) {
    m.doc() = "The compiled part of weft.";
    m.attr("version") = WEFT_VERSION;
    m.attr("kind_names") = weft::kind_names();
    nb::exception<weft::error>(m, "LibraryError").attr("__doc__") =
        "Why the library refuses something, in one line: what was wrong; given: ...; allowed: ...";
    m.def("policies", &weft::policies, nb::arg("module"),
          "The policies of a module, a shared object; without one the built-in policies, in the order in "
          "which they "
          "are listed.");
    m.def("check_policy", &weft::check_policy, nb::arg("spec"),
          "Raises LibraryError if the library refuses it.");
    m.def("settings", &weft::settings_of, nb::arg("path"),
          "The settings of a settings file, as for the environment's variables, by the keys of the file.");
    m.def("machine", &weft::machine_of, nb::arg("spec"), nb::arg("measure"),
          "A machine as the library reads it. spec: as for WEFT_MACHINE. measure: this machine is measured "
          "first.");
    m.def("machine_toml", &weft::machine_toml, nb::arg("spec"), "The machine of a model as a machine file.");
    m.def("machine_files", &weft::machine_files_found,
          "Name and path of each machine file that a name can find.");
    m.def("machine_path", &weft::machine_path, nb::arg("spec"),
          "The path of the file that a name stands for; what is no name is returned as it is.");
    m.def("demangle", &weft::demangle, nb::arg("symbol"),
          "The name of a function as C++ writes it; None for a name that is not mangled, or not in a way "
          "that is known.");
    m.def("walk", &weft::walk_records, nb::arg("records"), nb::arg("workers"), nb::arg("complete"),
          "The tables of a trace: order, tasks, segments, idle stretches, critical path. records: n x 32 "
          "bytes; "
          "times in nanoseconds.");
    weft::bind_views(m);
    weft::bind_simulate(m);
    weft::bind_share(m);
    weft::bind_interleaved_memory(m);
}
