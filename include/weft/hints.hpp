#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

/// Whether, and how, a task is preempted: docs/preemption.md.
enum class preemption : std::uint8_t {
    runtime_default, ///< as its parent; a root: as WEFT_PREEMPT says
    off,             ///< never
    yield,           ///< its worker leaves it: only for code that does not depend on its kernel thread
    klt,             ///< its kernel thread stops with it, and another one takes the worker: for any code
};

/// What the program knows about a task or a group. Every hint is optional. A missing or wrong hint costs
/// time, never correctness. docs/policies.md says which policy reads which hint.
struct hints {
    double work = 0;          ///< relative to the siblings, in any unit; 0: unknown
    std::size_t bytes = 0;    ///< bytes touched by the task and all its descendants; 0: unknown
    std::string_view name{};  ///< task class; must outlive the runtime (a literal)
    std::uint64_t key = 0;    ///< tells apart tasks of one class whose sizes differ; 0: none
    int priority = 0;         ///< the larger runs earlier, if the policy reads it
    int children = 0;         ///< number of children that the task spawns itself; 0: unknown
    const void* data_begin{}; ///< begin of the interval of the task's data; null: unknown
    const void* data_end{};   ///< one past its end
    weft::preemption
        preempt{}; ///< unlike the others no mere advice: a task with a type of its own may be preempted
};

/// No hint is given.
inline constexpr hints no_hints{};

} // namespace weft
