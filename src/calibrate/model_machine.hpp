#pragma once

#include "machine/machine.hpp"

#include <string_view>

namespace weft {

enum class calibrates {
    when_needed, // takes what was measured before; measures if there is nothing, and keeps that
    never,       // takes what was measured before, or what is typical
    anew         // measures, and keeps that
};

// The machine that a model needs: load_machine(spec), where every figure that the description lacks has a default
// (figures.hpp). This machine has what was measured on it. Measuring takes about three seconds, and says so on standard
// error. In one process this machine always has the same figures, unless it is measured anew. Throws weft::error.
machine model_machine(std::string_view spec, calibrates = calibrates::when_needed);

} // namespace weft
