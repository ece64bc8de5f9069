#pragma once

#include "runtime/current.hpp"

#include "engine/idle/home_tasks.hpp"
#include "task/task.hpp"

namespace weft::openmp {

struct region;

/// Something that a task of Weft is to do: an implicit or an explicit task of OpenMP.
struct launch {
    void (*run)(launch&) noexcept = nullptr;
    region* of = nullptr;
    engine::home_task way{}; ///< if it starts at one worker
};

/// The number of workers.
int worker_count();

/// Starts it as a task of Weft, wherever the policy places it; from any thread.
void start_anywhere(launch&, int priority);
/// Starts it on the worker of this number (modulo their count).
void start_at(launch&, unsigned worker);
/// Lets other tasks of Weft run first, if the caller is one.
void yield_to_others() noexcept;

/// The context of a task of Weft that runs a launch; null for other tasks.
context* context_of_task(const task&) noexcept;
/// The running task of Weft, which runs a launch, has this context.
void set_context_of_task(context&) noexcept;

/// Ends the program with status 2, and says why, if Weft cannot run as the environment asks.
void check_runtime();

} // namespace weft::openmp
