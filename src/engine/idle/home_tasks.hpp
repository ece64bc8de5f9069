#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

#include <atomic>

/// Tasks that one worker alone may run next, because the code on their stacks depends on the worker's thread (OpenMP's
/// threads: compat/openmp). The policy is not told of them, as it is not told of the tasks that the gate has bound.
/// (The gate's own list has one lock for all, and knows ranks of cores only.)
namespace weft::engine {

/// One such task, on its way. It lies where the task keeps it, and is free again when the worker has taken the task.
struct home_task {
    home_task* next = nullptr; ///< guarded by the lock of the list
    task* of = nullptr;
    worker* home = nullptr;
};

/// Gives the task to the worker `home`, and wakes it if it is parked; from any thread, with the tick held away.
void send_home(home_task&) noexcept;
/// The oldest task that was sent to this worker in its present arena; null if there is none. In the runtime.
task* take_home_task(const worker&) noexcept;

/// How many tasks wait in the list of the worker, which it may share with workers of other engines. A worker that parks
/// reads it after its fence, and send_home() wakes parked workers after a fence of its own (S1). relaxed: the lock orders
/// the rest
std::atomic<int>& home_tasks_of(const worker&) noexcept;
inline bool has_home_tasks(const worker& w) noexcept {
    return home_tasks_of(w).load(std::memory_order_relaxed) > 0;
}

} // namespace weft::engine
