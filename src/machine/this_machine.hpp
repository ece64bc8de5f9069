#pragma once

#include "machine/machine.hpp"

namespace weft {

/// What hwloc says of the processors that the calling thread may run on, without a quota. It reads hundreds of files and
/// loads its plugins, which takes some milliseconds: this_machine() asks it once. Throws weft::error.
machine_parts read_this_machine();

} // namespace weft
