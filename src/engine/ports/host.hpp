#pragma once

#include "policy/seam/policy.hpp"
#include "task/task.hpp"

#include <weft/impl/hot.hpp>

#include <cstdint>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct message;

/// How workers are told of work and how one worker reaches another. The code that carries out spawns, joins and
/// waits asks this port; each engine answers with threads or with virtual workers.
struct host {
    /// The scheduler on the current fiber: takes tasks and runs them. Returns when the fiber has been given a
    /// child to run.
    virtual void schedule() = 0;
    /// `p` says where a task of the worker's arena was just put and which workers could run it. Wakes one of
    /// them if none is searching.
    virtual void announce(worker&, const placement& p) = 0;
    /// From any thread: some worker of the task's arena offers the task to the policy.
    virtual void submit(task&, ready_reason) = 0;
    /// Exposes hidden entries to the workers that ask for them. Called in the runtime, or in the exposure
    /// handler; `by_signal`: a signal came.
    virtual void answer(worker&, bool by_signal) noexcept = 0;
    /// True if the exposed entry is its owner's again, because its thief has not taken it yet.
    virtual bool reclaim(worker& owner, impl::frame&) noexcept = 0;
    /// Puts the message into its receiver's mailbox, after the latency between the two where time is modelled,
    /// and makes the receiver look there.
    virtual void deliver(worker& sender, message&) = 0;
    /// Nanoseconds of the engine's clock.
    virtual time_ns now() const noexcept = 0;
    /// Uniform in [0, below), from the worker's own seeded source.
    virtual std::uint32_t draw(worker&, std::uint32_t below) = 0;

protected:
    ~host() = default;
};

} // namespace weft::engine
