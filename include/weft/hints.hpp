#pragma once

#include <cstddef>
#include <string_view>

namespace weft {

/// What the program knows about a task or a group. Every hint is optional. A missing or wrong hint costs
/// time, never correctness. docs/policies.md says which policy reads which hint.
struct hints {
    double work = 0;          ///< relative to the siblings, in any unit; 0: unknown
    std::size_t bytes = 0;    ///< bytes touched by the task and all its descendants; 0: unknown
    std::string_view name{};  ///< task class; must outlive the runtime (a literal)
    int priority = 0;         ///< the larger runs earlier, if the policy reads it
    int children = 0;         ///< number of children that the task spawns itself; 0: unknown
    const void* data_begin{}; ///< begin of the interval of the task's data; null: unknown
    const void* data_end{};   ///< one past its end
};

/// No hint is given.
inline constexpr hints no_hints{};

} // namespace weft
