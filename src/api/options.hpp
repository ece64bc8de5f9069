#pragma once

#include "engine/model/model_engine.hpp"
#include "engine/threads/thread_engine.hpp"
#include "gate/resource.hpp"
#include "machine/machine.hpp"

#include <weft/runtime.hpp>

#include <optional>
#include <string>

namespace weft::api {

/// Options with the environment's and the default values filled in, checked.
struct settings {
    std::string policy;
    weft::machine machine;
    resource_table resources;
    engine::thread_engine_options threads;
    int active = 0;           ///< how many workers are active at first; 0: all
    std::string active_given; ///< the option that says so; then the policy must be one that supports it
    std::optional<engine::model_engine_options> model; ///< if that engine was asked for
};

/// Throws weft::error, naming the option or variable, what was given and what is allowed.
/// `on`: a modelled machine that there is, in place of the one that the options name.
settings resolve(const runtime_options&, const machine* on = nullptr);

} // namespace weft::api
