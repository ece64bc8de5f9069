#pragma once

#include "machine/machine.hpp"

#include <nanobind/nanobind.h>

namespace weft {

/// What weft.machine() documents.
nanobind::dict as_dict(const machine&);

} // namespace weft
