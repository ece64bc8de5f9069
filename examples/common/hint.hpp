// Hints from counts.
#pragma once

#include <weft/weft.hpp>

#include <cstddef>

namespace examples {

// Relative work, in any unit, and bytes touched by a task with all that it spawns.
inline weft::hints hint(std::size_t work, std::size_t bytes) {
    return {.work = static_cast<double>(work), .bytes = bytes};
}

} // namespace examples
