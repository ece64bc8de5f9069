#pragma once

#include "engine/threads/preemption/kernel_thread.hpp"
#include "engine/threads/preemption/tick_lead.hpp"
#include "engine/worker/preemption_options.hpp"
#include "engine/worker/worker.hpp"
#include "queue/sync.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

/// When workers get ticks: the timers, and the ticks that workers send each other. README.md, "Ticks". Not here: what a
/// worker does at a tick.
class ticks {
public:
    ticks(thread_engine& of, const preemption_options&) noexcept;
    ticks(const ticks&) = delete;
    ticks& operator=(const ticks&) = delete;

    void begin(); ///< when all workers exist
    /// Makes the timer of the calling thread, or of another one before any ticks come; false if the system has none.
    static bool make_timer(kernel_thread&) noexcept;
    static void delete_timer(kernel_thread&) noexcept;

    // ---- in the runtime, on the worker's thread
    /// A task is about to run, or to go on; `here`: not on another kernel thread.
    void runs(thread_worker&, bool preemptible, bool here) noexcept;
    void pauses(thread_worker&) noexcept; ///< the worker is about to sleep, or to end
    /// The worker's thread gives the worker away, or has just got it: with a task that goes on, or to look for one.
    void leaves(thread_worker&, kernel_thread&) noexcept;
    void comes(thread_worker&, kernel_thread&, bool with_task) noexcept;

    // ---- in the handler
    /// The worker has got a tick, of its timer or of another worker: sends it on.
    void arrives(thread_worker&, bool of_timer) noexcept;
    /// The worker runs a task that is not preempted: its timer is not needed.
    void finds_none(thread_worker& w) noexcept { pauses(w); }

    std::uint64_t of_timers() const noexcept { return of_timers_.load(std::memory_order_relaxed); }
    std::uint64_t forwarded() const noexcept { return forwarded_.load(std::memory_order_relaxed); }

private:
    struct group {
        int first = 0, last = 0; ///< its workers
        std::int64_t phase_ns = 0;
        using leader = tick_lead<queue::std_sync, worker>;
        leader lead{}; ///< the worker whose timer gives the ticks (Y6)
    };

    group& group_of(const thread_worker&) const noexcept;
    void try_to_lead(group&, thread_worker&) noexcept;
    static bool is_of_one(const group& g) noexcept { return g.last - g.first == 1; }
    void arm(const group&, kernel_thread&) const noexcept;
    static void disarm(kernel_thread&) noexcept;
    void send(thread_worker&) noexcept;

    thread_engine& of_;
    const preemption_options how_;
    std::unique_ptr<group[]> groups_;
    std::atomic<std::uint64_t> of_timers_{0}, forwarded_{0};
};

} // namespace weft::engine
