#pragma once

#include "machine/figures.hpp"
#include "machine/machine.hpp"

#include <nanobind/nanobind.h>

#include <vector>

namespace weft {

/// What weft.machine() documents.
nanobind::dict as_dict(const machine&);
nanobind::list as_list(const std::vector<figure>&);

} // namespace weft
