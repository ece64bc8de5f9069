#pragma once

#include "policy/seam/policy.hpp"

#include <vector>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct arena;

/// How the workers of an arena are woken and kept waiting as a group: for teams, and for tasks that a worker
/// of another arena has placed. engine/team/README.md has the protocol.
struct team_host {
    /// Wakes the parked workers of the range, so that they look again.
    virtual void wake_in(arena&, workers) = 0;
    /// Wakes `by_cell[c]` workers of each cell c, inactive workers included.
    virtual void wake_for_team(arena&, const std::vector<int>& by_cell) = 0;
    /// A worker that is no member has placed a task where these workers find it. If none of them is
    /// searching, wakes one.
    virtual void announce_in(arena&, workers) = 0;
    /// The gate holds a task that only workers on cores of these ranks may run. If all of these workers are
    /// inactive, wakes one.
    virtual void wake_inactive(arena&, rank_range) noexcept {}
    /// Makes the workers of the lowest ranks active, 1 to all of them; `count` is clamped to that. Under a policy that is not
    /// resizable nothing changes. From any thread. A worker that becomes inactive ends the task it has, or stops when
    /// that is preempted.
    virtual void set_active(int count) = 0;
    /// The worker, which has nothing to run, stops looking for work in its arena.
    virtual void leave_search(worker&) noexcept = 0;
    /// Waits until worker::called_into was written and call() has said so, or until the engine stops.
    virtual void await_team(worker&) = 0;
    /// Tells the worker that its worker::called_into was written, or that something waits for it alone: an inactive worker looks.
    virtual void call(worker&) noexcept = 0;

protected:
    ~team_host() = default;
};

} // namespace weft::engine
