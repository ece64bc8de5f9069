#pragma once

#include "machine/machine.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The seam between a scheduling policy and the engines that carry it out.
///
/// A policy decides where a ready task goes, which task a worker runs next, and what a spawn does. It sees
/// workers by rank, and gets time and random numbers from its context. It sees no engine, and has no threads,
/// clocks or random sources of its own, so the same object serves any engine. docs/adding-a-policy.md is the
/// tour; src/policy/README.md has the rules that the engine guarantees in return.
namespace weft {
/// Everything that a policy and an engine share by layout. The number is policy_abi, see module.hpp.
inline namespace policy_v8 {

enum class spawn_order : std::uint8_t {
    child_first,  ///< the child runs now; the parent's fiber is saved and offered by ready(.., continuation)
    parent_first, ///< the parent continues; the child is offered by ready(.., spawned)
    call,         ///< the child runs now on the parent's stack, and is still a task for the policy
    lazy,         ///< like call, but the whole subtree is silent: joins are frames, exposed only if asked for
};

enum class ready_reason : std::uint8_t {
    root,         ///< handed in by runtime::run
    spawned,      ///< a child whose spawn() said parent_first
    continuation, ///< a parent whose spawn() said child_first
    joined,       ///< its group, or the frame that it waited for, is done
    moved,        ///< group_wait() said requeue
    unblocked,    ///< its wait for a lock, a future, a timer, or for another runtime is over
    released,     ///< a task of a graph: the tasks that it waited for have ended
    granted,      ///< the gate had refused it, and there is room now
    exposed,      ///< taken out of a worker's hidden frames; `w` is the thief
    preempted,    ///< the engine has taken its worker from it, so that other tasks run
    yielded,      ///< it called this_task::yield
};

/// Other ready tasks of the worker come before a task that is ready for this reason: the task could have gone on, and
/// waits for nothing. If such tasks were taken first again, two tasks that wait for each other in loops would never end.
constexpr bool goes_behind(ready_reason reason) noexcept {
    return reason == ready_reason::yielded || reason == ready_reason::preempted;
}

enum class after_wait : std::uint8_t { stay, requeue };

/// A place where tasks are kept. The numbers are the policy's own; by convention a worker's rank is its own
/// place.
using place_id = int;

struct workers { ///< half-open range of ranks
    worker_id first = 0, last = 0;
    constexpr bool contains(worker_id w) const noexcept { return first <= w && w < last; }
    constexpr int size() const noexcept { return last - first; }
    constexpr bool empty() const noexcept { return first >= last; }
};

struct placement { ///< where ready() put a task, and which workers could run it
    place_id at = 0;
    workers who{};       ///< one sleeper of these is woken; empty: the policy has woken them itself
    worker_id near = -1; ///< the search for a sleeper begins here and goes upwards; -1: at the caller
};

/// The answer of next(). With `t` null and `ask` set, worker `from` may be asked to expose a hidden frame.
/// `moved`: so many further tasks of `from` were put into the worker's own place.
struct decision {
    task* t = nullptr;
    place_id from = 0;
    bool ask = false;
    int moved = 0;
};

/// Adjacent workers that run a moldable task together: `leader`, which runs the share of rank 0, and those behind.
struct elastic_place {
    worker_id leader = 0;
    int width = 1;
};
inline constexpr int max_width = 64; ///< of a place

struct usage { ///< of a finished task; the optional figures are there where the engine can tell
    time_ns self = 0, wall = 0;
    std::optional<std::uint64_t> instructions, misses;
    bool cancelled = false;
};

/// What a worker runs, as policy_context::running() tells it. It is a copy: the task may have ended since.
struct snapshot {
    bool busy = false;       ///< it runs a task that the policy knows, to which the other fields belong
    std::uint64_t id = 0;    ///< task::id()
    std::string_view name{}; ///< hints::name
    int priority = 0;        ///< hints::priority
    preemption preempt = preemption::off; ///< task::preempt()
    time_ns since = 0;                    ///< when the worker came to it, for the first time or again
    time_ns before = 0;         ///< how long it had run until then, by itself; requirements::own_usage
    int root = 0;               ///< task::root()
    std::uint64_t of_class = 0; ///< class_of() of the task, see task/task_class.hpp
};

/// How the engine runs what begins from now on: requirements::lazy and graph_tasks, and whether the policy molds, as
/// requirements::most_width above 0 says.
struct root_zone {
    bool lazy = false, graph_tasks = false, molds = false;
};

/// What a policy has chosen for the places of the program, for reports.
struct policy_choices {
    struct choice {
        std::string place;      ///< a name that the program gave, or the code: module+0xoffset
        std::string chosen;     ///< a policy with its knobs
        std::string state;      ///< a few words
        std::string why;        ///< what the comparisons with the others say
        std::uint64_t runs = 0; ///< of this process
        /// Comparisons with other choices that have been made, also by earlier processes.
        std::uint64_t compared = 0;
    };
    std::vector<choice> places{};
    /// Where they are kept for later processes, or why nowhere; empty: the policy chooses nothing.
    std::string memory{};
};

/// Read-only view of a data-flow graph, for policies that look ahead. Its tasks have numbers from 0, in the
/// order of adding (task::graph_number). Valid during graph_grew() only, except bottom_level().
struct graph_view {
    virtual std::uint64_t id() const noexcept = 0;        ///< of this run of the graph: task::graph
    virtual std::uint32_t size() const noexcept = 0;      ///< tasks
    virtual std::uint32_t first_new() const noexcept = 0; ///< since the last graph_grew()
    virtual const hints& hint(std::uint32_t) const noexcept = 0;
    virtual int bottom_level(std::uint32_t) const noexcept = 0; ///< tasks on the longest way to an end
    virtual void predecessors(std::uint32_t, void (*each)(void* with, std::uint32_t), void* with) const = 0;
    virtual void successors(std::uint32_t, void (*each)(void* with, std::uint32_t), void* with) const = 0;

protected:
    ~graph_view() = default;
};

/// What a policy may ask of the engine. None of it allocates or blocks.
struct policy_context {
    virtual workers all() const = 0;    ///< dense ranks of this instance
    virtual workers active() const = 0; ///< may change: never keep it across hooks
    virtual int
        core_of(worker_id) const = 0; ///< rank of the machine's core that it runs on; may change: exchange()
    virtual time_ns now() const = 0;  ///< of the engine: real or virtual
    /// Uniform in [0, below), by the runtime's seed.
    virtual std::uint32_t random(worker_id, std::uint32_t below) = 0;
    virtual void wake(workers) = 0; ///< state changed: sleepers of the range look again
    /// Sends a message from the calling worker, `from`, and wakes `to`. It arrives as message() when `to`
    /// next enters the runtime, in the order of posting. Until then a task that it brings is in no place.
    virtual void post(worker_id from, worker_id to, int kind, task* = nullptr) = 0;
    /// What that worker ran a moment ago. Requires: requirements::snapshots.
    virtual snapshot running(worker_id) const = 0;
    /// The two workers change cores. Whatever they run goes on, each on the other's core; core_of() tells the new cores at
    /// once. False, and nothing happens, if the engine cannot do it: src/policy/README.md says when. In any hook, and in
    /// tick(). Requires: requirements::exchanges.
    virtual bool exchange(worker_id, worker_id) = 0;

protected:
    ~policy_context() = default;
};

/// What a policy needs of the engine.
struct requirements {
    std::uint16_t task_bytes = 0;  ///< at most max_task_bytes
    std::uint16_t group_bytes = 0; ///< at most max_group_bytes
    bool lazy = false;             ///< roots are born silent: no spawn is ever reported
    /// queues_child() is asked in the silent zone about the children of wide groups. A group is wide if the
    /// rest of a task that adds its children was handed to a thief group::handovers_to_wide times.
    bool wide_groups = false;
    /// In the silent zone, a worker whose hidden entries thieves keep taking gives some of them to ready(), as exposed,
    /// before it is asked: engine/idle/README.md, "Offering ahead".
    bool offers_ahead = false;
    bool own_usage = false; ///< usage::self and wall are metered
    /// usage::misses are metered: cache lines that the task itself, not its children, asked of what its core
    /// shares with others. The model counts them. On threads they come from the processor's counters where
    /// these are available, otherwise from what the task declares by weft::touch, in lines.
    /// usage::instructions are metered as well, where they can be told. The model knows none: the cycles of
    /// weft::cost stand for them. On threads they come from the counters or not at all. The report and the
    /// trace name the source (misses_from, instructions_from).
    bool own_misses = false;
    bool demotable = false; ///< the engine may turn child_first into call when it has no stack for it
    bool resizable = false; ///< the set of active workers may change
    bool posts = false;     ///< calls context.post
    bool uses = false;      ///< reads task::uses
    bool levels = false;    ///< reads task::bottom_level, or wants graph_grew
    bool snapshots = false; ///< calls context.running
    bool exchanges = false; ///< calls context.exchange
    /// Each task of a graph comes by ready(), also where roots are silent. The forks below it are as silent as a root's.
    bool graph_tasks = false;
    /// The widest place that mold() answers, at most max_width; 0: the policy does not mold. Then, as for a width that is
    /// fixed, a moldable task gets a team: docs/moldable-tasks.md.
    int most_width = 0;
    time_ns tick = 0; ///< so many nanoseconds between two calls of tick(); 0: it is not called
    /// lock_waits(), lock_taken() and lock_released() are called. In the model only: an engine with real threads refuses the
    /// policy, since there a lock for which no task waits costs a few instructions, and tells no policy.
    bool locks = false;
    /// run_begins() and run_ended() are called, and run_begins() says anew what `lazy` and `graph_tasks` say here, and
    /// whether the policy molds.
    bool follows_runs = false;
};

/// In every hook `w` is the calling worker. Hooks of different workers run at the same time. No hook
/// allocates from the heap, blocks or throws, except attach().
struct policy {
    /// Once, before any other hook. Throws weft::error for a machine it cannot serve. The factory has parsed
    /// the knobs.
    virtual requirements attach(const machine&, policy_context&) = 0;

    /// `t` may run: keep it in some place. Its context is fully saved.
    virtual placement ready(worker_id w, task& t, ready_reason) = 0;

    /// A task for `w`, or the worker to ask. A call looks at no more than one place outside the worker's own,
    /// except with `last_look`. Then it looks at everything that `w` may take, since `w` parks if nothing
    /// comes.
    virtual decision next(worker_id w, bool last_look) = 0;

    /// The workers whose hidden frames a parked worker keeps asking for; read again after wake().
    virtual workers victims(worker_id) { return {}; }

    /// With requirements::most_width: `w` has found the moldable task `t`, which comes from next() for the first time
    /// (task::molds()). Where it runs, and how wide: task::width() is what the program has asked for.
    virtual elastic_place mold(worker_id w, task& t) { return static_cast<void>(t), elastic_place{w, 1}; }
    /// The shares of that task, in the order of their ranks, the first one being the task itself: keeps share i where
    /// worker `at.leader + i` finds it, and no other worker. The body may wait in one share for another, so the shares of
    /// any two tasks must come to all workers that have both in the same order. The engine then tells these workers.
    virtual void assemble(worker_id w, std::span<task* const> shares, elastic_place at) {
        static_cast<void>(w), static_cast<void>(shares), static_cast<void>(at);
    }
    /// Whether a share that assemble() has kept waits for `w`. Then the next next() of `w` gives such a share. A worker that is
    /// no longer active runs the shares that were kept for it, since no other worker may: with requirements::resizable.
    virtual bool keeps_share(worker_id w) { return static_cast<void>(w), false; }

    /// What a spawn of `child` by `parent` does. Not called in the silent zone.
    virtual spawn_order spawn(worker_id, task& parent, task& child) {
        static_cast<void>(parent), static_cast<void>(child);
        return spawn_order::lazy;
    }

    /// requirements::wide_groups: whether the next child of a wide group becomes a task, which ready() places
    /// as spawned. Otherwise it runs at once, silently.
    virtual bool queues_child(worker_id) { return false; }

    /// Into how many equal pieces a parallel_for of a reported zone is cut; 0: halved down to its grain.
    virtual int pieces(worker_id, task& loop) { return static_cast<void>(loop), 0; }

    virtual void group_begin(worker_id, task&, group&) {}
    virtual after_wait group_wait(worker_id, task&, group&) { return after_wait::stay; }
    virtual void group_end(worker_id, task&, group&) {} ///< on the worker that resumes; also when unwinding

    virtual void started(worker_id, task&) {} ///< first start only
    /// It is about to be suspended, and comes back by ready(.., that reason).
    virtual void blocked(worker_id, task&, ready_reason) {}
    /// After blocked(): it runs again. Either next() has returned it, or it continues at once and without
    /// ready(), since what it waited for was over before it slept.
    virtual void resumed(worker_id, task&) {}
    /// Once for each task that was started or cancelled, before its group counts down.
    virtual void finished(worker_id, task&, const usage&) {}
    /// What `from` has posted to this worker. The task that it brings, if any, may run: as for ready().
    virtual placement message(worker_id, worker_id from, int kind, task*) {
        return static_cast<void>(from), static_cast<void>(kind), placement{};
    }
    /// With requirements::locks, of a weft::mutex, on the worker that runs the task. `lock`: the number of the mutex, from 0 in
    /// the order in which tasks have used them first. The task is about to wait for it; it has got it, at once or after a wait;
    /// it is about to give it back, which it may do on another worker, or another task does for it.
    virtual void lock_waits(worker_id, task&, std::uint32_t lock) { static_cast<void>(lock); }
    virtual void lock_taken(worker_id, task&, std::uint32_t lock) { static_cast<void>(lock); }
    virtual void lock_released(worker_id, task&, std::uint32_t lock) { static_cast<void>(lock); }
    virtual void iteration(worker_id, task&, int) {} ///< -1: the program's data are written first
    /// With requirements::levels; before ready() of any new task.
    virtual void graph_grew(worker_id, const graph_view&) {}
    virtual void resized(workers active) { static_cast<void>(active); }
    /// At a tick of the preemption timer: whether `t`, which `w` runs and which may be preempted, makes room for other
    /// tasks. `w` is in the middle of the code of `t`, so this hook takes no lock that is not held in hooks only.
    virtual bool gives_way(worker_id, const task& t) { return static_cast<void>(t), true; }
    /// With requirements::tick, while some worker of the engine runs a task. No worker calls it: it may ask the context
    /// for anything but random numbers and messages. Calls never overlap each other, but they overlap other hooks.
    virtual void tick(time_ns now) { static_cast<void>(now); }

    /// With requirements::follows_runs. A run lasts from the beginning of a root, while no other root is open, to the end of the
    /// last open root. `root` is about to be handed in; no hook has seen it. By any thread. The two hooks never overlap each other
    /// or themselves, but tasks that no root waits for (futures, graphs) may still run, and idle workers look for tasks.
    virtual root_zone run_begins(const task& root, time_ns now) {
        return static_cast<void>(root), static_cast<void>(now), root_zone{};
    }
    virtual void run_ended(time_ns now) { static_cast<void>(now); } ///< by the worker that ran the last root
    /// With requirements::follows_runs. The rest of a parent that lies below this silent child in the worker's chain goes to another
    /// worker, and may end before the child. By the child's worker; in a signal handler, if its code runs, as the next hook.
    virtual void child_detached(worker_id w) { static_cast<void>(w); }
    /// It has ended, or its parent is below it again. By its worker.
    virtual void child_settled(worker_id w) { static_cast<void>(w); }
    /// With requirements::follows_runs. The task that asks for something, of the last next() of `w`, will not go on here now: it
    /// waits at the gate and comes back by ready(granted), or it goes to a team. It may run already, elsewhere, and have ended.
    virtual void turned_away(worker_id w) { static_cast<void>(w); }
    /// With requirements::follows_runs. The engine or the process ends: writes what later processes are to know. At the end of a
    /// process other threads may still call hooks. May come several times. It may allocate.
    virtual void keep() noexcept {}
    /// For reports; from any thread, at any time after attach(). It may allocate.
    virtual policy_choices choices() { return {}; }

    virtual ~policy() = default;
};

} // namespace policy_v8
} // namespace weft
