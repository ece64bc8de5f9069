#pragma once

#include "policy/seam/policy.hpp"
#include "task/task.hpp"

#include <weft/impl/hot.hpp>
#include <weft/impl/wait_queue.hpp>

#include <cstdint>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct message;
class thread_waiter;

/// How workers get tasks and how one worker reaches another. The code of spawns, joins and waits asks this
/// port; each engine implements it, with threads or with virtual workers.
struct host {
    /// Runs the scheduler on the current fiber: takes tasks and runs them. Returns when the fiber was given a
    /// child to run.
    virtual void schedule() = 0;
    /// `p` says where a task of the worker's arena was just placed and which workers can run it. If none of
    /// them is searching, wakes one.
    virtual void announce(worker&, const placement& p) = 0;
    /// Makes some worker of the task's arena offer the task to the policy; from any thread.
    virtual void submit(task&, ready_reason) = 0;
    /// Blocks a thread that is no worker until the waiter is woken. The thread may work as a worker meanwhile.
    /// `root`: null, or a root that is not submitted yet; the end of this root wakes the waiter.
    virtual void wait_outside(thread_waiter&, task* root) = 0;
    /// Exposes hidden entries of the worker to the workers that ask for them. Called in the runtime or in the
    /// exposure handler. `by_signal`: a signal came.
    virtual void answer(worker&, bool by_signal) noexcept = 0;
    /// Takes the exposed entry back for its owner. False if the thief has taken it.
    virtual bool reclaim(worker& owner, impl::frame&) noexcept = 0;
    /// Makes the worker enter the runtime at its next fork or return from one, if it reads this in time.
    virtual void call_attention(worker&) noexcept = 0;
    /// Puts the message into its receiver's mailbox and makes the receiver look there. Where time is
    /// modelled, the message takes the latency between the two workers.
    virtual void deliver(worker& sender, message&) = 0;
    /// The task may be preempted, or is the first after one that may be (worker::ticks), and runs next on the worker.
    /// Called in the runtime.
    virtual void preemptible_runs(worker&, const task&) noexcept {}
    /// The worker's thread is to make room for the one that was stopped with the task: the fiber to switch to.
    virtual fiber& leave_for_thread_of(worker&, task&) noexcept = 0;
    /// The two workers change cores, and what they run goes on: arena::exchange(), which holds the gate's lock. False if
    /// the engine cannot do it, and nothing has changed.
    virtual bool exchange_cores(worker&, worker&) noexcept = 0;
    /// With requirements::locks, in the runtime: what the worker's task is about to do, or has done, with a lock.
    virtual void lock_changes(worker&, const void* lock, impl::lock_event) noexcept {
        static_cast<void>(lock);
    }
    /// A task that may be preempted was made; from any thread.
    virtual void preemptible_is_made() noexcept {}
    /// The engine's clock, in nanoseconds.
    virtual time_ns now() const noexcept = 0;
    /// A number uniform in [0, below), from the worker's own seeded source.
    virtual std::uint32_t draw(worker&, std::uint32_t below) = 0;

protected:
    ~host() = default;
};

} // namespace weft::engine
