#pragma once

#include "machine/figures.hpp"

namespace weft::calibrate {

/// What the runtime's own work takes on one worker of a threads engine: the figures `charges.*_ns`, except those of
/// the system.
figure_values measure_charges();

} // namespace weft::calibrate
