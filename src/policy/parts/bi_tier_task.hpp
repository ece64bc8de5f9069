#pragma once

#include "policy/parts/subtree_sizes.hpp"
#include "policy/parts/tree_part.hpp"
#include "task/task.hpp"

#include <cstdint>

/// What CAB keeps of a task and of a group, in the bytes that the engine gives a policy. They are zero at
/// first.
///
/// Written by the worker that spawns, puts, starts or ends the task. No other worker touches them at that
/// time, except for sums: any worker adds to the sums of a group. The partition sets `is`, and
/// bi_tier_stealing.hpp reads it.
namespace weft::bi_tier {

enum class kind : std::uint8_t {
    free,     ///< in no subtree. It is zero, so tasks of graphs, which come without spawn(), are free, too
    inter,    ///< inter-socket, above the leaves; roots, too
    leaf,     ///< leaf inter-socket: the root of a subtree
    intra,    ///< below a leaf
    measured, ///< of an iteration that is profiled
    plain,    ///< of a program that its first iteration has shown to be CPU-bound: stolen at random
};

/// The sums of the tasks of a group, where they are measured. A task adds to its group and not to its parent,
/// since the group may belong to another task. Then the first task that added to it may end before the
/// others.
struct group_part {
    subtree_sum children;
    bool owner_waits; ///< then the owner exists when the group ends
};

struct task_part { ///< never changed while the task is silent: frames are copies
    /// The task itself if it is a leaf that made its socket busy, or a plain root. In the copy of a frame it
    /// is another task.
    const task* self;
    double bytes;         ///< size of involved data; 0: unknown
    double total;         ///< that of the whole tree
    subtree_sum children; ///< measured; relaxed, since it is read after they have ended
    tree_part at;
    std::int32_t socket; ///< + 1; 0: none yet
    std::int16_t boundary;
    kind is;
    std::uint8_t iterations; ///< marked so far
};
static_assert(sizeof(task_part) <= max_task_bytes);

} // namespace weft::bi_tier
