#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

/// What the program knows about a task or a group. All of it is optional; a missing or wrong hint costs
/// speed, never correctness. Which policy reads which hint is said in docs/policies.md.
struct hints {
    double work = 0;          ///< relative to the siblings, any unit; 0: unknown
    std::size_t bytes = 0;    ///< data touched by the task and all its descendants, bytes; 0: unknown
    std::string_view name{};  ///< task class; must outlive the runtime (a literal)
    int priority = 0;         ///< larger runs earlier where the policy looks at it
    int children = 0;         ///< branching degree of the task's own spawns; 0: unknown
    const void* data_begin{}; ///< interval of the data that the task works on; null: unknown
    const void* data_end{};   ///< one past its end
};

/// Nothing is known.
inline constexpr hints no_hints{};

} // namespace weft
