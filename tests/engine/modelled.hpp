#pragma once

#include "engine/model/model_engine.hpp"
#include "engine/run/roots.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::test {

/// The cost of the runtime's own work: nothing, so that only the program takes time, or the default of
/// machine files.
enum class runtime_cost : std::uint8_t { none, usual };

/// Equal cores; by default a cycle is a nanosecond.
struct cores {
    int packages = 1, domains_per_package = 1, cores_per_domain = 1;
    runtime_cost cost = runtime_cost::none;
    int frequency_mhz = 1000;

    machine build() const {
        std::string text = "name = 'equal cores'\n[[core_class]]\nname = 'core'\nfrequency_mhz = " +
                           std::to_string(frequency_mhz) + "\n[regular]\n";
        text += "packages = " + std::to_string(packages) + "\n";
        text += "domains_per_package = " + std::to_string(domains_per_package) + "\n";
        text += "cores_per_domain = " + std::to_string(cores_per_domain) + "\n";
        if (cost == runtime_cost::none) {
            text += "[charges]\n";
            for (const char* of : {"fork", "spawn", "start", "suspend", "wait", "look", "look_away", "lock",
                                   "wake", "woken", "exposure", "signal"})
                text += of + std::string("_ns = 0\n");
        }
        return parse_toml(text, "equal cores");
    }
};

inline machine equal_cores(int count) { return cores{.cores_per_domain = count}.build(); }

/// A model engine with a worker for each core of its machine, and no runtime around it. A worker without work
/// sleeps at once, unless it is given patience.
struct modelled {
    engine::model_engine engine;

    modelled(std::unique_ptr<policy> p, machine on, std::uint64_t its_seed = 1, time_ns patience = 0)
        : engine(std::move(p), on, {.workers = on.size(), .seed = its_seed, .spin_time = patience}) {}
    /// Tasks are preempted as the options say.
    modelled(std::unique_ptr<policy> p, machine on, const engine::preemption_options& how)
        : engine(std::move(p), on, {.workers = on.size(), .spin_time = 0, .preempt = how}) {}
    modelled(const std::string& policy, machine on, std::uint64_t its_seed = 1)
        : modelled(make_policy(policy), std::move(on), its_seed) {}

    /// The virtual time in nanoseconds that `f` takes as a root.
    template <class F>
    time_ns run(F&& f) {
        engine.wait_until_quiescent();
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
        const auto took = *engine.last_measured_run();
        return took.ended - took.began;
    }
};

} // namespace weft::test
