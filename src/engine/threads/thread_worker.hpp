#pragma once

#include "engine/idle/ask_slot.hpp"
#include "engine/process/fault_report.hpp"
#include "engine/threads/futex.hpp"
#include "engine/threads/miss_counter.hpp"
#include "engine/threads/preemption/kernel_thread.hpp"
#include "engine/threads/speeds/duty_cycle.hpp"
#include "engine/threads/thread_usage.hpp"
#include "engine/worker/worker.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include <pthread.h>
#include <sys/types.h>

namespace weft::engine {

struct thread_engine;
class thread_waiter;

/// A worker that is an OS thread. Fields without a remark belong to that thread. idle/README.md, "Words", has
/// the protocol of the others.
struct thread_worker : worker {
    thread_worker(worker_id rank, weft::engine::engine& of, std::size_t workers, std::uint64_t seed)
        : worker(rank, of, workers)
        , random(seed) {}

    // ---- the thread
    pthread_t
        thread{}; ///< its own; written by the constructor of the engine, before any worker runs; read by all
    kernel_thread own{};                    ///< which writes its words; `id` is read when it has ended
    fiber* native = &own.own_stack;         ///< control block of the occupant's own stack
    signal_stack_memory external_signals{}; ///< for the signal handlers of an external thread
    std::minstd_rand random;
    std::optional<miss_counter> counter{}; ///< if the engine counts misses; of this thread
    task_counts counted_before{};          ///< at the beginning of the stretch of user code

    // ---- the occupant: the own thread, an external thread in its place (external.cpp), or another thread of the engine
    // ---- (preemption)
    // The words of occupancy.hpp, beside signal_out and hides_nothing below; seq_cst.
    /// Where other threads reach it. Written by threads that come and leave, paired with `reaching`.
    std::atomic<const reach*> occupant{&own};
    /// How many threads use what they have read from `occupant`. They add before they read it, and subtract release; a thread
    /// that is to end waits until it is no occupant, then for 0 (P1).
    std::atomic<int> reaching{0};
    const thread_waiter* until = nullptr; ///< of the external thread: it leaves when this was woken
    std::uint64_t tasks_at_release = 0;   ///< count.tasks when the worker last gave pages of stacks back
    bool sleeps_for_ever = false; ///< the own thread, until it is woken; written before it leaves its place
    /// Left to the own thread by an external one, which then wakes it with leave_awake().
    task* left = nullptr;

    /// The thread that is pinned to the worker's core: the one that runs it, or that comes back when an external thread
    /// leaves; null until the first one has come. Guarded by thread_engine::pinned.
    kernel_thread* pinned = nullptr;
    bool is_home =
        false; ///< it has pinned itself for as long as it has no work (home_core.cpp); of the own thread

    // ---- preemption
    kernel_thread* kernel = &own; ///< the occupant, if it is a thread of the engine; else null
    task* to_resume = nullptr;    ///< which the kernel thread that it was stopped with is to go on with
    /// It lacks a spare thread, and one is being made. Set by the handler, cleared by the creating thread; relaxed: the request
    /// that follows orders it.
    std::atomic<bool> wants_thread{false};
    int ticks_in_want = 0; ///< at which at most one thread was spare; of the handler
    // Ticks one after the other that have found its present task where it is not preempted at once; of the handler.
    int ticks_near_malloc = 0;  ///< in a function that malloc may have called (Y5)
    int ticks_in_c_library = 0; ///< in the C library's own code, if the task yields (Y10)
    /// A tick that another worker has sent is on its way: at most one, since signals queue. Set by the sender, cleared by the
    /// handler and by the next occupant, which such a tick does not reach; seq_cst (Y8).
    std::atomic<bool> tick_out{false};

    occupant_usage usage{}; ///< of the occupant; with a report only, and not with threads that change places

    duty_cycle duty{}; ///< if speeds are emulated: of the occupant, in the runtime and in its handler

    // ---- asking: words that other threads read or write
    ask_slot<> slot; ///< see ask_slot
    /// True while the worker runs a task, false while it looks for one. Written by the worker, read by
    /// workers that ask or park; seq_cst, paired with `askers` (X3).
    std::atomic<bool> working{true};
    /// How often the worker refused: its handler had nothing to give, or it began to look for work. Written
    /// by the worker and its handler, read by its asker: release, acquire.
    std::atomic<std::uint64_t> refusals{0};
    /// A signal is on its way to the worker: at most one, since signals queue. Set by its sender, cleared by
    /// the handler: seq_cst exchanges (X2).
    std::atomic<bool> signal_out{false};
    /// The worker is in user code, hides nothing, and its next fork looks at the askers: a signal would find nothing. Set by the
    /// worker and its handler, cleared before they read the askers, read by senders of signals; seq_cst (X4).
    std::atomic<bool> hides_nothing{false};

    // ---- sleeping
    futex_parker parker;
    /// The range of workers (first, last as 32 bits each) for which something was announced and left to this
    /// worker, or for which it was woken. If it gets busy it wakes another of them. Widened by announcers and
    /// wakers, seq_cst; taken by the worker, acq_rel (S2, S3).
    std::atomic<std::uint64_t> pending_wakes{0};
    /// A wake was left to the worker since its last look. Set by announcers, cleared by the worker; relaxed, a hint that
    /// ends its waiting for an answer.
    std::atomic<bool> notified{false};
};

} // namespace weft::engine
