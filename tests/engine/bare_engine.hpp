#pragma once

#include "engine/run/roots.hpp"
#include "engine/support.hpp"
#include "engine/threads/thread_engine.hpp"
#include "machine/load.hpp"
#include "policy/seam/registry.hpp"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::test {

/// An engine without a runtime around it, whose internals the tests may read.
struct bare_engine {
    explicit bare_engine(const std::string& policy, const engine::thread_engine_options& o)
        : bare_engine(make_policy(policy), o) {}
    bare_engine(std::unique_ptr<policy> p, const engine::thread_engine_options& o)
        : engine(std::move(p), load_machine(""), o) {}

    template <class F>
    void run(F&& f) {
        engine::run_root(engine, {[](void* c) { (*static_cast<std::remove_reference_t<F>*>(c))(); }, &f});
    }

    weft::engine::thread_engine engine;
};

inline engine::thread_engine_options options_of(int workers) {
    engine::thread_engine_options o;
    o.workers = workers;
    o.seed = seed;
    return o;
}

} // namespace weft::test
