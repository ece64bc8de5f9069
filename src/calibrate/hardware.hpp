#pragma once

#include "machine/figures.hpp"

namespace weft::calibrate {

/// What the machine does without Weft: its clock, its caches and memory, the way of a cache line between cores. The
/// figures that can be measured, by the names of figures.hpp.
figure_values measure_hardware(const machine& here);

/// What the system charges: wake_ns, woken_ns and signal_ns. Nothing if there is one core only.
figure_values measure_system(const machine& here);

} // namespace weft::calibrate
