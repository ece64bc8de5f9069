#pragma once

#include <array>
#include <cstdint>

namespace weft::trace {

/// Constructs that are told apart. The tasks of all others count as one construct.
inline constexpr std::uint32_t most_constructs = 256;

/// What the tasks of one construct came to. Times are in the unit of the events.
struct construct_figures {
    std::uint64_t tasks = 0;
    std::int64_t own = 0, longest = 0; ///< in the code of these tasks themselves; the longest piece
    /// Of the tasks that have no task of the same construct around them: their work and spans, tasks inside them included.
    std::int64_t work = 0, span = 0;
};

using figures_of_constructs = std::array<construct_figures, most_constructs>;

} // namespace weft::trace
