#pragma once

#include "engine/process/process.hpp"
#include "engine/threads/preemption/kernel_thread.hpp"
#include "engine/threads/preemption/malloc_code.hpp"
#include "engine/threads/preemption/spare_threads.hpp"
#include "engine/threads/preemption/ticks.hpp"
#include "engine/worker/preemption_options.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <ucontext.h>

namespace weft::engine {

struct thread_engine;
struct thread_worker;

/// A switch_action: gives the preempted task `t`, which was stopped with its kernel thread, to the policy.
void offer_stopped(impl::worker& at, void* t, void*);

/// The preemption of an engine's tasks: README.md beside this file. As long as no task may be preempted there is no
/// handler, no timer and no thread.
class preempter {
public:
    preempter(thread_engine&, const preemption_options&) noexcept;
    ~preempter();
    preempter(const preempter&) = delete;
    preempter& operator=(const preempter&) = delete;

    /// From now on tasks may be preempted. Any thread may call it, when the workers' threads exist; the first call counts.
    /// Throws weft::error.
    void begin();
    bool has_begun() const noexcept { return begun_.load(std::memory_order_acquire); } // pairs with begin()
    void end_spares() noexcept { spares_.end(); }   ///< every task has ended, or the process ends
    void join_spares() noexcept { spares_.join(); } ///< after end_spares()

    // ---- in the runtime, on the worker's thread
    void runs(thread_worker&, const task&) noexcept; ///< the task is about to begin, or to go on
    void pauses(thread_worker&) noexcept;            ///< the worker is about to sleep, or to end

    /// If the worker runs on the last spare thread: the task that it resumes first is a stopped one, if it finds any (Y9).
    void look_for_stopped(thread_worker&) noexcept;

    // ---- kernel threads
    /// Makes a thread that no worker has the one of this worker. The thread's words are ready, and it is in the runtime.
    /// `with_task`: the thread goes on with the task with which it was stopped.
    void occupy(thread_worker&, kernel_thread&, bool with_task = false) noexcept;
    /// On the thread's own stack, which the scheduler has left for a task whose kernel thread is stopped: gives it the
    /// worker, and waits as a spare thread. Returns when the thread has a worker again; false if it is to end.
    bool change_threads(thread_worker&, kernel_thread& self, task& preempted) noexcept;
    /// The whole life of a thread that was made as a spare one of this worker.
    void serve_as_spare(kernel_thread& self, thread_worker&, const sigset_t& mask) noexcept;

    // ---- in the handler
    /// `in_handler`: it has interrupted the handler of another one, outside of its hold.
    void on_tick(thread_worker&, const siginfo_t&, ucontext_t& interrupted, bool in_handler) noexcept;

    /// Tasks that are stopped with their kernel threads, now. relaxed: a bound
    int stopped() const noexcept { return stopped_.load(std::memory_order_relaxed); }

    // ---- for tests and reports
    std::uint64_t yields() const noexcept { return yields_.load(std::memory_order_relaxed); }
    std::uint64_t stops() const noexcept { return stops_.load(std::memory_order_relaxed); }
    const ticks& when() const noexcept { return ticks_; }
    const spare_threads& spares() const noexcept { return spares_; }
    const preemption_options& options() const noexcept { return how_; }

private:
    bool may_preempt(thread_worker&) noexcept;
    bool is_in_library(thread_worker&, const task&, const ucontext_t& interrupted) const noexcept;
    kernel_thread* spare_for(thread_worker&) noexcept;
    bool preempt(thread_worker&, task&, kernel_thread* spare) noexcept;
    void stop_with(thread_worker&, task&, kernel_thread& spare) noexcept;
    void hand_over(thread_worker&, kernel_thread& from, kernel_thread& to, task* preempted) noexcept;

    thread_engine& of_;
    const preemption_options how_;
    std::mutex beginning_;
    std::atomic<bool> begun_{false};
    bool has_handler_ = false;            ///< written under beginning_
    const malloc_code* malloc_ = nullptr; ///< since begin()
    ticks ticks_;
    spare_threads spares_;
    std::atomic<int> stopped_{0};
    std::atomic<std::uint64_t> yields_{0}, stops_{0};
};

} // namespace weft::engine
