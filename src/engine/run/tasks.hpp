#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

#include <exception>

namespace weft::engine {

/// Scheduler: runs a fresh task to its end on the current fiber. The fiber may be on another worker when this
/// returns.
void start(worker&, task&);
/// Runs a fresh task on the current stack, on top of its parent.
void call(worker&, task&, bool silent);
/// Tells the policy that the task is over and frees it.
void retire(worker&, task&, bool cancelled) noexcept;
/// retire(), and counts the task's group down.
void finish(worker&, task&, bool cancelled) noexcept;
/// Makes the task that waits for the group ready; it may belong to another runtime.
void wake_waiter(worker*, group&) noexcept;
void child_done(worker*, group&) noexcept;
/// Counts down the children that have ended here in bulk: group_count.hpp.
void count_bulk_down(worker&) noexcept;
/// The same before something else than a child of `next` runs.
inline void count_bulk_down_unless_of(worker& w, const group* next) noexcept {
    if (w.bulk_group && w.bulk_group != next) [[unlikely]]
        count_bulk_down(w);
}
/// In user code, since it may free an exception: keeps the first exception of the group for its wait; later ones are only
/// counted.
void fail(group&, std::exception_ptr) noexcept;
/// Gives every hidden entry of the running chain to the policy. A fiber does this before it blocks on
/// anything but its own youngest frame, so that nothing is hidden with it. Each entry is exposed once in its
/// life: O(1) for each fork.
void expose_all(worker&);
/// Gives the oldest hidden entry of the fiber to the policy. `ahead_by`: the worker that offers it ahead of an ask, or
/// -1. Throws std::bad_alloc if there is no memory for the task of a frame; then the entry is still hidden.
void expose_to_all(worker&, fiber& of, impl::frame& entry, std::int16_t ahead_by);

/// frame::thief of an entry that its owner gave to the policy by itself.
inline constexpr std::int32_t not_reclaimable = -1;

} // namespace weft::engine
