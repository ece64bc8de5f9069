#pragma once

#include "runtime/tool_interface.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

/// What a tool sees (OMPT). No event costs more than one relaxed load and a branch as long as there is no tool: the functions below are
/// called behind is_on() only.
///
/// T1  A tool starts before the first thread has a region, and none starts later. So a thread in a region has seen it, or there is none.
/// T2  A thread of the tool's is a kernel thread. A thread of a team is a seat; `seat::shown` is the region that the tool believes
///     to run there, and task_schedule events lead from one to the next.
/// T3  With a tool, the threads of a team wait for its end like thread 0, so that the last event of each implicit task comes from
///     the thread that has run it, and no task runs on a seat whose implicit task has ended (team::unseen).
namespace weft::openmp {

struct region;
struct seat;
struct team;
struct dependence;

namespace tool {

/// Whether a tool is there. relaxed: T1 orders it. Hidden, so that it is read without a look at the table of addresses.
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> active;
inline bool is_on() noexcept { return active.load(std::memory_order_relaxed); }

/// What the tool has noted about a task region, and what it may ask. A region has it without a value until begin_view(), so that a task costs
/// nothing without a tool.
struct task_view {
    data noted;
    frame where;
    state waits;      ///< work_serial: it does not wait
    bool is_detached; ///< the tool believes that it ends by its event
};
void begin_view(region&) noexcept;

/// Looks for a tool and starts it; once in the life of the process. The caller is an initial thread without a region.
void start_once();
/// Calls the tool's last function; at the end of the process, or when the tool asks for it.
void finish() noexcept;

void initial_task_begins(region&) noexcept;
void initial_task_ends(region&) noexcept;
/// Likewise for the initial task of a team of a league, on a thread that exists.
void team_task_begins(region&) noexcept;
void team_task_ends(region&) noexcept;

void parallel_begins(team&, const void* from) noexcept;
void parallel_ends(team&, const void* from) noexcept;
void implicit_task_begins(region&) noexcept;
void implicit_task_ends(region&) noexcept;

/// `flags`: task_undeferred or 0.
void task_is_created(region& task, int flags, const std::vector<dependence>* depends,
                     const void* from) noexcept;
/// The code of the seat goes on with another region, while the one before stays alive.
void switch_to(seat&, region& next) noexcept;
/// The region that waits on the seat, or has ended there: what comes when a task has ended.
region& waiting_on(seat&) noexcept;
/// The body of the task has ended; `next` comes.
void task_ends(seat&, region& task, task_status, region& next) noexcept;
/// Another region ends by an event than the one that runs.
void is_fulfilled(region& task, task_status) noexcept;

void sync_begins(region&, sync, const void* from) noexcept;
void sync_ends(region&, sync, const void* from) noexcept;
void wait_begins(region&, sync, const void* from) noexcept;
void wait_ends(region&, sync, const void* from) noexcept;

/// The code combines what a thread has reduced; between its begin and its end the thread does not wait.
void reduction(region&, endpoint, const void* from) noexcept;

void work_begins(region&, work, std::uint64_t count, const void* from) noexcept;
/// The end of the construct that the thread is in, if it is in one.
void work_ends(region&, const void* from) noexcept;
void masked(region&, endpoint, const void* from) noexcept;
void mutex_event(event, mutex, const void* lock, const void* from) noexcept;
void nest_lock_again(endpoint, const void* lock, const void* from) noexcept;
/// -2: there is no tool; -1: it has no callback.
int control(std::uint64_t command, std::uint64_t modifier, void* argument, const void* from) noexcept;

/// A region that waits, from construction to destruction: the construct and the wait in it.
class sync_scope {
public:
    sync_scope(region& who, sync kind, const void* from) noexcept
        : who_(is_on() ? &who : nullptr)
        , kind_(kind)
        , from_(from) {
        if (who_) [[unlikely]] {
            sync_begins(*who_, kind_, from_);
            wait_begins(*who_, kind_, from_);
        }
    }
    ~sync_scope() {
        if (who_) [[unlikely]] {
            wait_ends(*who_, kind_, from_);
            sync_ends(*who_, kind_, from_);
        }
    }
    sync_scope(const sync_scope&) = delete;
    sync_scope& operator=(const sync_scope&) = delete;

private:
    region* who_;
    sync kind_;
    const void* from_;
};

} // namespace tool
} // namespace weft::openmp

/// Where the program has called an entry point.
#define WEFT_CALLER __builtin_return_address(0)
