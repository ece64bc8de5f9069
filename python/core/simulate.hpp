#pragma once

#include <nanobind/nanobind.h>

namespace weft {

/// weft._core.simulate: recorded programs on modelled machines.
void bind_simulate(nanobind::module_& m);

} // namespace weft
