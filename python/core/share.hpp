#pragma once

#include <nanobind/nanobind.h>

namespace weft {

/// weft._core.share_* and Share*: the table of the programs on a machine, and which program is placed where.
void bind_share(nanobind::module_& m);

} // namespace weft
