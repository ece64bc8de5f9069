#pragma once

#include "policy/parts/subtree_sizes.hpp"
#include "policy/parts/tree_part.hpp"
#include "policy/seam/policy.hpp"

#include <cstdint>

/// What CAB keeps of a task and of a group, in the bytes that the engine gives a policy. They are zero at
/// first.
///
/// Written by the worker that spawns, puts, starts or ends the task; then no other worker touches it. Sums
/// are the exception: any worker adds to those of a group. The partition decides on `is`,
/// bi_tier_stealing.hpp goes by it.
namespace weft::bi_tier {

enum class kind : std::uint8_t {
    free,     ///< in no subtree; zero: so also the tasks of graphs, which come without spawn()
    inter,    ///< inter-socket, above the leaves; roots, too
    leaf,     ///< leaf inter-socket: the root of a subtree
    intra,    ///< below a leaf
    measured, ///< of an iteration that is profiled
    plain,    ///< of a program that its first iteration has shown to be CPU-bound: stolen at random
};

/// What the tasks of a group have come to where they are measured. A task adds here and not to its parent:
/// the group may belong to another task, and then the first task that added to it may end before the others.
struct group_part {
    subtree_sum children;
    bool owner_waits; ///< so the owner is there when the group ends
};

struct task_part { ///< never changed while the task is silent: frames are copies
    /// The task itself if it is a leaf that made its socket busy, or a plain root. In the copy of a frame it
    /// is another task.
    const task* self;
    double bytes;         ///< size of involved data; 0: unknown
    double total;         ///< that of the whole tree
    subtree_sum children; ///< measured, relaxed: it is read when they have ended
    tree_part at;
    std::int32_t socket; ///< + 1; 0: none yet
    std::int16_t boundary;
    kind is;
    std::uint8_t iterations; ///< marked so far
};
static_assert(sizeof(task_part) <= max_task_bytes);

} // namespace weft::bi_tier
