#pragma once

#include "engine/observe/progress_file.hpp"
#include "engine/observe/report_file.hpp"
#include "engine/observe/tally.hpp"
#include "engine/ports/timers.hpp"
#include "engine/process/at_exit.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"
#include "gate/gate.hpp"
#include "machine/machine.hpp"
#include "policy/seam/policy.hpp"
#include "task/fiber_pool.hpp"

#include <weft/declare.hpp>
#include <weft/impl/entry.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

/// What the runtime does for a program, where that takes time on a modelled machine.
enum class operation : std::uint8_t { fork, spawn, start, suspend, wait, gate };

/// What is told of what happens, and where; an empty name: nothing.
struct record_options {
    std::string trace{}, report{}, progress{}; ///< files
    std::string engine_name{}, policy_spec{};
    std::uint64_t seed = 0;
    std::string resources{}; ///< what the resources file says, if there is one

    bool asks_for_nothing() const noexcept { return trace.empty() && report.empty() && progress.empty(); }
};

/// What requirements::own_misses and the instructions beside them are metered by.
enum class count_source : std::uint8_t { nobody, model, counters, declared, unknown };
std::string_view name_of(count_source) noexcept; ///< as in reports and traces; empty: nobody asked for them

struct measured_run { ///< in an engine's time
    time_ns began = 0, ended = 0;
    std::optional<time_ns> work{}; ///< of all workers in user code, if the engine can tell
};

/// Makes one more instance of an engine's policy.
using policy_factory = std::function<std::unique_ptr<policy>()>;

/// What every engine offers to the code shared between them: the carrying out of spawns, joins, waits and
/// completions is in this folder, how workers get work and how they are told is the engine's.
struct engine {
    /// Without a factory no task can ask for a team of workers.
    engine(std::unique_ptr<policy> p, machine m, int workers, std::size_t stack_bytes,
           std::size_t keep_fibers, resource_table resources, policy_factory another);
    virtual ~engine() = default;

    /// From now on what happens goes to files; before the first worker does anything. Throws weft::error if
    /// there can be no such files.
    void record(const record_options&, const std::atomic<std::int64_t>* virtual_time = nullptr);
    /// What is still to be written to them. Workers have noted their last, or the process ends: what comes
    /// later is not in the trace.
    void finish_files() noexcept;
    void record_events(const std::atomic<std::int64_t>* virtual_time);
    /// A worker of this engine does from now on.
    void trace_worker(worker&) noexcept;

    /// The scheduler on the current fiber: takes tasks and runs them. Returns when the fiber has been given a
    /// child to run.
    virtual void schedule() = 0;
    /// `p` says where a task of the worker's arena was just put and who could run it; wakes somebody if
    /// needed.
    virtual void announce(worker&, const placement& p) = 0;
    /// Hands out hidden entries to those who ask. Called in the runtime or in the exposure handler;
    /// `by_signal`: a signal came.
    virtual void answer(worker&, bool by_signal) noexcept = 0;
    /// Gets an exposed entry back if its thief has not taken it yet.
    virtual bool reclaim(worker&, impl::frame&) noexcept = 0;
    /// Sees to it that the letter comes into its receiver's mail, and that the receiver looks there.
    virtual void deliver(worker& sender, message&) = 0;
    virtual time_ns now() const noexcept = 0;
    /// From any thread: some worker of the task's arena offers it to the policy.
    virtual void submit(task&, ready_reason) = 0;
    /// From any thread: a root is about to be handed in.
    virtual void root_begins() {}
    virtual int worker_count() const noexcept = 0;

    // For teams: arena.hpp.
    /// Wakes those of the range who sleep: they look again.
    virtual void wake_in(arena&, workers) = 0;
    /// The same for so many of each cell, also those who stand by.
    virtual void wake_for_team(arena&, const std::vector<int>& by_cell) = 0;
    /// Something was put somewhere by no member.
    virtual void announce_in(arena&, workers) = 0;
    /// What only workers of these ranks may run lies at the gate: if all of them stand by, one is to come.
    virtual void wake_inactive(arena&, rank_range) noexcept {}
    /// A worker stops looking for work in its arena, with nothing to run.
    virtual void leave_sleep_protocol(worker&) noexcept = 0;
    /// Returns when worker::called_into was written and call() said so, or when the engine stops.
    virtual void await_team(worker&) = 0;
    virtual void call(worker&) noexcept = 0;
    virtual std::uint32_t draw(worker&, std::uint32_t below) = 0;

    /// From any thread. set_timer throws weft::error when there is none to be had; when cancel_timer has
    /// returned, the timer does not fire, or has fired to the end.
    virtual void set_timer(timer&) = 0;
    virtual void cancel_timer(timer&) noexcept = 0;

    /// Of workers that are `observed`: the runtime was entered from user code, or is about to go back to it.
    /// By default for requirements::own_usage.
    virtual void user_code_ends(worker&) noexcept;
    virtual void user_code_begins(worker&) noexcept;
    /// A root has ended on this worker; who waits for it does not know yet.
    virtual void root_ended(worker&) noexcept = 0;
    // The rest is for workers that are `slow`.
    /// The operation is taking place; the worker pays before its user code goes on.
    virtual void charge(worker&, operation) noexcept {}
    /// The task is about to wait until somebody offers it again, and goes on; `what` it waits for, and which
    /// one of these, is told by who knows it.
    virtual void waits(worker&, const task&, ready_reason) noexcept {}
    virtual void waits_for(worker&, const char* what, const void* which) noexcept {
        static_cast<void>(what), static_cast<void>(which);
    }
    virtual void resumed(worker&, const task&) noexcept {}
    /// See weft/declare.hpp.
    virtual void declare_cost(worker&, std::uint64_t cycles, work) noexcept { static_cast<void>(cycles); }
    virtual void declare_transfer(worker&, std::size_t disk, std::size_t bytes) noexcept {
        static_cast<void>(disk), static_cast<void>(bytes);
    }
    virtual void declare_data(worker&, const void* data, std::size_t bytes, access) noexcept {
        static_cast<void>(data), static_cast<void>(bytes);
    }
    virtual void declare_home(const void* data, std::size_t bytes, std::optional<int> node) {
        static_cast<void>(data), static_cast<void>(bytes), static_cast<void>(node);
    }

    virtual const worker& worker_at(int rank) const noexcept = 0;
    /// False in a process that a fork() has made without this engine's threads.
    virtual bool of_this_process() const noexcept = 0;
    /// At the end of the process, when the code may be unloaded: ends the threads, unless one of them
    /// stays busy. No memory is freed, no destructor run: others may still use this engine, in vain.
    virtual void end_threads_at_exit() noexcept = 0;
    /// From the first of the last roots to the end of the last one, where the engine's time is its own; the
    /// caller has waited for them.
    virtual std::optional<measured_run> last_measured_run() const { return std::nullopt; }
    /// What happened in a run that has ended, the last one if the engine's time is its own; for people or as
    /// one JSON object.
    virtual std::string describe_run(const tally& run, bool as_json) const = 0;
    /// The memory node where the first byte of this lies; -1: unknown, nobody has touched it yet.
    virtual int home_of(const void* data, std::size_t bytes) const {
        return static_cast<void>(data), static_cast<void>(bytes), -1;
    }
    /// Returns when nothing is left of earlier roots, where that could be seen in the next one's figures.
    virtual void settle() {}

    const std::unique_ptr<policy> scheduler; ///< of the outermost arena
    const policy_factory another_policy;
    machine on;
    arena outermost;
    queue::spin_lock<> making_arenas; ///< guards the next one
    std::map<std::vector<worker_id>, std::unique_ptr<arena>>
        teams{}; ///< by the number of the arena around, and members
    weft::gate gate;
    record_options recorded{};
    std::unique_ptr<trace::recorder> tracer; ///< if there is a trace
    std::unique_ptr<report_file> reports;    ///< if there is one
    std::unique_ptr<progress_file> progress; ///< likewise
    at_exit finishes_files;                  ///< left by the engine's destructor, before anything of it goes
    requirements need;
    count_source misses_from = count_source::nobody; ///< set before there is a file, as the next one
    count_source instructions_from = count_source::nobody;
    fiber_pool fibers;
    std::atomic<std::int32_t> roots{0};
    std::atomic<std::uint64_t> graphs{0}; ///< runs of graphs whose tasks the policy knows
};

/// frame::thief of an entry that its owner gave to the policy by itself.
inline constexpr std::int32_t not_returnable = -1;

/// What `w` may run next, by the gate or the policy.
inline decision next_task(worker& w, bool last_look) {
    if (w.eng.gate.has_bound()) [[unlikely]] // a last look comes after a fence: see gate::bind
        if (task* const t = w.eng.gate.take_bound(w.core, &w.arena())) return {t, w.local};
    return w.arena().scheduler->next(w.local, last_look);
}

// admission.cpp
/// Of a task that has a claim of its own, before it starts or goes on: false if the gate keeps it, or its
/// team is called together.
bool admit(worker&, task&);
/// It is about to be suspended.
void pause_claim(worker&, task&);
/// In user code: the calling task has ended as far as its claim, or that of which it is a share, goes.
void release_claim();
/// Offers what the gate has let go.
void hand_on(worker&, gate::released&);

inline void charge(worker& w, operation o) noexcept {
    if (w.slow) [[unlikely]]
        w.eng.charge(w, o);
}

// switch.hpp
/// Keeps the exposure handler away from the chain while the runtime works on it. The way out answers the asks
/// that came meanwhile; control may be on another thread by then.
worker& enter_runtime() noexcept;
void leave_runtime() noexcept;
fiber& take_fiber(worker&); ///< throws weft::error when there is no stack
void free_fiber(worker&, fiber&) noexcept;

// switch.cpp
/// Saves the current fiber with its innermost task, and schedules on another one. The action runs when the
/// task may be made ready by others. Returns when it was resumed, in the runtime. Ends the program, with the
/// knob to turn, when there is no stack to schedule on: others hold addresses in this one, so it cannot be
/// unwound.
void suspend(worker&, ready_reason reason, void (*action)(worker&, void*, void*), void* a, void* b) noexcept;
/// Scheduler: goes on with a suspended task; the current fiber becomes free.
void resume(worker&, task&) noexcept;
void fiber_entry(boost::context::detail::transfer_t) noexcept;

// tasks.cpp, roots.cpp
/// A record with the policy's bytes (zeroed) and room for a closure behind them.
task& make_task(worker*, engine&, std::size_t closure_bytes, std::size_t closure_align);
void free_task(worker*, task&) noexcept;
/// Identity of a graph's n-th task: the same in every run.
std::uint64_t graph_task_id(std::uint32_t n) noexcept;
/// Scheduler: runs a fresh task to its end on the current fiber. Returns on whatever worker the fiber is by
/// then.
void start(worker&, task&);
/// Runs a fresh task on the current stack, below its parent.
void call(worker&, task&, bool silent);
/// Tells the policy that the task is over and frees it; finish() also counts its group down.
void retire(worker&, task&, bool cancelled) noexcept;
void finish(worker&, task&, bool cancelled) noexcept;
/// Makes `child` the next child of `parent` (null: a root) in `in`.
void adopt(task& child, task* parent, group* in, const hints&) noexcept;
/// The task that an exposed entry becomes: a new record for a frame, the parent's own for a continuation.
task& task_of_frame(worker& thief, impl::frame&);
void offer(worker&, task&, ready_reason) noexcept;
/// Makes a waiter ready, from whatever runtime it is.
void wake_waiter(worker*, group&) noexcept;
void child_done(worker*, group&) noexcept;
void fail(worker*, group&, std::exception_ptr) noexcept;
/// Numbers a root and hands it in.
void submit_root(engine&, task&);
bool is_root(const task&) noexcept;
/// Runs `b` as a root of `e` and waits for it, from whatever thread; in place if this is a worker of `e`.
void run_root(engine& e, impl::body b);
/// Gives every hidden entry of the running chain to the policy: done before a fiber blocks on anything but
/// its own youngest frame, so that nothing is hidden with it. Each entry is exposed once in its life: O(1) a
/// fork.
void expose_all(worker&);

} // namespace weft::engine
