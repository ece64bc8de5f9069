#pragma once

#include "kmpc/kmpc.hpp"
#include "runtime/tasks.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::openmp::kmpc {

/// What the compiler says of a task when its memory is allocated. The rest of a construct comes when it is submitted.
enum task_flag : std::int32_t {
    is_tied = 1,
    is_final = 2,
    has_destructors = 8,
    is_proxy = 16,
    has_priority = 32,
    is_detachable = 64,
};

/// A task that does not exist for others yet. `bytes`: of the task with its private data; those that it shares follow.
task& allocate_task(region& me, std::int32_t flags, std::size_t bytes, std::size_t shared_bytes,
                    std::int32_t (*code)(gtid, task*));
/// The same as `of`, to the byte, with its own memory for what it shares.
task& copy_task(region& me, const task& of);
/// Gives it to the runtime, or calls it.
void submit(region& me, task&, const std::vector<dependence>* depends = nullptr, bool is_deferrable = true,
            const void* from = nullptr);
/// The end of the caller's taskgroup, with its reductions.
void end_taskgroup(region& me);
/// Gives back a task that was never submitted.
void discard(task&);

} // namespace weft::openmp::kmpc
