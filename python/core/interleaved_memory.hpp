#pragma once

#include <nanobind/nanobind.h>

namespace weft {

/// weft._core.InterleavedMemory: where the system puts new memory of the programs that this thread starts.
void bind_interleaved_memory(nanobind::module_& m);

} // namespace weft
