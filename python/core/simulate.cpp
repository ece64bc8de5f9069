#include "simulate.hpp"

#include "hook_scope.hpp"
#include "python_policy.hpp"
#include "record_bytes.hpp"

#include "replay/play.hpp"
#include "replay/read_script.hpp"

#include <weft/programs.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace weft {
namespace {

/// A program that can be run again and again, in memory.
struct recorded_program {
    replay::script script;
    bool is_virtual;
};

recorded_program read_program(const record_bytes& records, int workers, bool complete, bool is_virtual,
                              const std::unordered_map<std::uint32_t, std::string>& names, bool declared) {
    const nb::gil_scoped_release others_run;
    return {replay::read_script(as_records(records), workers, complete, is_virtual, names,
                                declared ? replay::times::declared : replay::times::measured),
            is_virtual};
}

nb::dict result_of(const replay::played& p) {
    nb::list batches;
    for (const auto& b : p.batches) {
        nb::dict one;
        one["seconds"] = b.seconds;
        one["recorded_seconds"] = b.recorded_seconds;
        one["report"] = b.report;
        batches.append(one);
    }
    nb::dict d;
    d["machine"] = p.machine;
    d["workers"] = p.workers;
    d["seconds"] = p.seconds;
    d["recorded_seconds"] = p.recorded_seconds;
    d["runs"] = batches;
    return d;
}

/// `policy`: name and knobs of a policy of the library, or a callable that makes a policy in Python.
nb::dict simulate(const recorded_program& p, const std::string& machine, const nb::object& policy,
                  std::optional<int> workers, std::optional<std::uint64_t> seed, const std::string& resources,
                  const std::string& scenario, const std::string& trace, std::size_t stack_bytes) {
    hook_scope::refuse("weft.simulate()");
    runtime_options o;
    o.machine = machine;
    std::optional<python_policies> in_python;
    if (nb::isinstance<nb::str>(policy)) {
        o.policy = nb::cast<std::string>(policy);
    } else {
        in_python.emplace(policy);
        o.policy = python_policies::name;
    }
    o.workers = workers;
    o.seed = seed;
    o.resources = resources;
    o.scenario = scenario;
    o.trace = trace;
    o.stack_bytes = stack_bytes;
    std::optional<replay::played> result;
    {
        const nb::gil_scoped_release others_run;
        result = replay::play(p.script, p.is_virtual, o);
    }
    if (in_python) in_python->rethrow();
    return result_of(*result);
}

/// Of run_together(), with the names of its options.
nb::dict simulate_together(const std::vector<std::pair<recorded_program*, std::string>>& programs,
                           const std::string& machine, std::optional<int> workers,
                           std::optional<std::uint64_t> seed, std::size_t stack_bytes,
                           const std::string& scheduler, int repeats, double period, double counter_period,
                           int rate_weight, int idle_below, const std::vector<double>& rates,
                           const std::vector<int>& domains, bool lends, double hysteresis) {
    hook_scope::refuse("weft.simulate_together()");
    runtime_options o;
    o.machine = machine;
    o.workers = workers;
    o.seed = seed;
    o.stack_bytes = stack_bytes;
    const auto nanoseconds = [](double seconds) {
        return std::chrono::nanoseconds(std::llround(seconds * 1e9));
    };
    together_options how{.scheduler = scheduler,
                         .repeats = repeats,
                         .period = nanoseconds(period),
                         .counter_period = nanoseconds(counter_period),
                         .rate_weight = rate_weight,
                         .idle_below = idle_below,
                         .rates = rates,
                         .domains = domains,
                         .lends = lends,
                         .hysteresis = nanoseconds(hysteresis)};
    std::vector<replay::beside> all;
    for (const auto& [p, policy] : programs) all.push_back({&p->script, p->is_virtual, policy});
    together_stats result;
    {
        const nb::gil_scoped_release others_run;
        result = replay::play_together(all, o, how);
    }
    nb::dict d;
    d["seconds"] = result.seconds;
    d["rates"] = result.rates;
    d["domains"] = result.domains;
    d["moves"] = result.moves;
    return d;
}

} // namespace

void bind_simulate(nb::module_& m) {
    nb::exception<replay::endless_wait>(m, "EndlessWait").attr("__doc__") =
        "The tasks of a program wait for each other.";
    nb::class_<recorded_program>(m, "Program", "A recorded program, for simulate().")
        .def_prop_ro("tasks", [](const recorded_program& p) { return p.script.tasks.size(); })
        .def_prop_ro("lost", [](const recorded_program& p) { return p.script.lost; });
    m.def("program", &read_program, nb::arg("records"), nb::arg("workers"), nb::arg("complete"),
          nb::arg("is_virtual"), nb::arg("names"), nb::arg("declared"),
          "The program that left these records, n x 32 bytes. names: by number. declared: tasks take the "
          "time that "
          "they declare.");
    m.def("simulate", &simulate, nb::arg("program"), nb::kw_only(), nb::arg("machine"), nb::arg("policy"),
          nb::arg("workers"), nb::arg("seed"), nb::arg("resources"), nb::arg("scenario"), nb::arg("trace"),
          nb::arg("stack_bytes"), "Runs a program on a modelled machine. Times in seconds.");
    m.def("simulate_together", &simulate_together, nb::arg("programs"), nb::kw_only(), nb::arg("machine"),
          nb::arg("workers"), nb::arg("seed"), nb::arg("stack_bytes"), nb::arg("scheduler"),
          nb::arg("repeats"), nb::arg("period"), nb::arg("counter_period"), nb::arg("rate_weight"),
          nb::arg("idle_below"), nb::arg("rates"), nb::arg("domains"), nb::arg("lends"),
          nb::arg("hysteresis"), "Runs programs beside each other on a modelled machine. Times in seconds.");
}

} // namespace weft
