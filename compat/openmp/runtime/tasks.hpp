#pragma once

#include "runtime/region.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::openmp {

/// A taskgroup region, or the tasks of a construct with task reductions.
///
/// `open`: its tasks that have not ended. Tasks add before they exist for others, and subtract at their end (release); the
/// wait at the end of the region reads it (acquire).
struct task_group {
    task_group* outer = nullptr;
    std::atomic<long> open{0};
    std::atomic<bool> is_cancelled{false};         ///< relaxed, as team::is_cancelled
    std::uintptr_t* reductions = nullptr;          ///< as gcc describes them (reductions.hpp)
    struct reduction_set* reduction_set = nullptr; ///< as clang does (kmpc/reductions.cpp)
    bool is_work_share = false;                    ///< not a taskgroup that the program could cancel
};

/// A dependence as the compiled code names it.
struct dependence {
    enum class kind : std::uint8_t {
        in = 1,
        out = 2,
        in_out = 3,
        mutex_in_out_set = 4,
        in_out_set = 5,
        all_memory = 6 ///< omp_all_memory: behind all tasks before it, and in front of all after it
    };
    const void* address;
    kind how;
};

/// What a task construct says.
struct task_request {
    void (*code)(void*) = nullptr;
    void* data = nullptr;             ///< null: the caller fills the task's memory
    trace::code_address outlined = 0; ///< what the compiler has made of the construct; 0: `code`
    void (*copy)(void*,
                 void*) = nullptr; ///< copies the data, with constructors; null: their bytes are copied
    std::size_t bytes = 0;
    std::size_t alignment = 1;
    bool is_deferrable = true; ///< the if clause
    bool is_final = false;
    bool is_detached = false;
    int priority = 0;
    const std::vector<dependence>* depends = nullptr;
    const void* from = nullptr; ///< where the program has called, for a tool
};

/// An explicit task, which does not exist for others yet. `copies`: with a copy of the data; else it uses those of the creator, without
/// constructors.
region& make_task(region& me, const task_request&, bool copies = true);
/// The event of a task with a detach clause; before the task is submitted.
void* event_of(region& task) noexcept;
/// Runs the task now or later, as the request says.
void submit_task(region& me, region& task, const task_request&);
/// Both for most tasks. A task that runs at once on data that need not be copied is not made at all.
void run_task(region& me, const task_request&);
/// The two halves of calling a task whose creator waits for it: what the caller does between them is the task.
void begin_undeferred(region& me, region& task);
void end_undeferred(region& task);
/// The event of a task has occurred; from any thread.
void fulfill(void* event);

void wait_for_children(region& me, const void* from);
void wait_for_dependences(region& me, const std::vector<dependence>&);

void begin_group(region& me, bool of_work_share, const void* from = nullptr);
void end_group(region& me, const void* from = nullptr);
/// The tasks of the innermost group, or all tasks of the team, are not to be started any more.
bool discards_tasks(const region& me) noexcept;

// ---- dependences.cpp
/// Adds the task behind those before it. False: some predecessor has not ended; the last one starts the task.
bool add_dependences(region& parent, region& task, const std::vector<dependence>&);
/// The task has ended: starts those that have waited for it alone.
void release_successors(region& task);
void free_dependences(region& parent) noexcept;

// ---- tasks.cpp
/// All predecessors of a task that is not to be called by its creator have ended.
void start_task(region& task);
void drop_reference(region&) noexcept;
/// Frees what a seat keeps.
void free_spare_blocks(seat&) noexcept;

} // namespace weft::openmp
