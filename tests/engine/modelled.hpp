#pragma once

#include "engine/model/model_engine.hpp"
#include "machine/load.hpp"
#include "policy/registry.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::test {

enum class runtime_cost : std::uint8_t {
    none, ///< only the program takes time, and who has nothing to do sleeps at once
    usual ///< who has nothing to do looks for something for 5 us
};

/// A machine of `workers` equal cores, where a cycle is a nanosecond.
inline machine equal_cores(int workers) {
    return load_synthetic("pack:1 l3:1 core:" + std::to_string(workers) + " pu:1");
}

/// A model engine with a worker for each core of its machine, and no runtime around it.
struct modelled {
    engine::model_engine engine;

    modelled(std::unique_ptr<policy> p, machine on, runtime_cost cost, std::uint64_t seed = 1)
        : engine(std::move(p), on, options(on.size(), cost, seed)) {}
    modelled(const std::string& policy, machine on, std::uint64_t seed = 1)
        : modelled(make_policy(policy), std::move(on), runtime_cost::none, seed) {}

    /// The virtual time that `f` takes as a root.
    template <class F>
    time_ns run(F&& f) {
        engine.settle();
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
        const auto [began, ended] = *engine.last_stretch();
        return ended - began;
    }

private:
    static engine::model_engine_options options(int workers, runtime_cost cost, std::uint64_t seed) {
        engine::model_engine_options o{.workers = workers, .seed = seed, .patience = 5'000};
        if (cost == runtime_cost::none) {
            o.patience = 0;
            o.price = {.fork = 0,
                       .spawn = 0,
                       .start = 0,
                       .suspend = 0,
                       .wait = 0,
                       .look = 0,
                       .look_away = 0,
                       .lock = 0,
                       .wake = 0,
                       .woken = 0,
                       .exposure = 0};
        }
        return o;
    }
};

} // namespace weft::test
