#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

#include <exception>

namespace weft::engine {

/// Scheduler: runs a fresh task to its end on the current fiber. Returns on whatever worker the fiber is by then.
void start(worker&, task&);
/// Runs a fresh task on the current stack, below its parent.
void call(worker&, task&, bool silent);
/// Tells the policy that the task is over and frees it.
void retire(worker&, task&, bool cancelled) noexcept;
/// The same, and counts its group down.
void finish(worker&, task&, bool cancelled) noexcept;
/// Makes the task that waits for the group ready, whatever runtime it belongs to.
void wake_waiter(worker*, group&) noexcept;
void child_done(worker*, group&) noexcept;
/// The group's wait gets the first of its exceptions; later ones are counted.
void fail(worker*, group&, std::exception_ptr) noexcept;
/// Gives every hidden entry of the running chain to the policy. This is done before a fiber blocks on anything but its
/// own youngest frame, so that nothing is hidden with it. Each entry is exposed once in its life: O(1) a fork.
void expose_all(worker&);

/// frame::thief of an entry that its owner gave to the policy by itself.
inline constexpr std::int32_t not_reclaimable = -1;

} // namespace weft::engine
