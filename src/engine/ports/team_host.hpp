#pragma once

#include "machine/machine.hpp"
#include "policy/seam/policy.hpp"

#include <vector>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct arena;

/// How the workers of an arena are woken and kept waiting as groups: for teams, and for tasks that were placed by a
/// worker of another arena. engine/team/README.md has the protocol.
struct team_host {
    /// Wakes the parked workers of the range: they look again.
    virtual void wake_in(arena&, workers) = 0;
    /// Wakes as many workers of each cell, inactive ones included.
    virtual void wake_for_team(arena&, const std::vector<int>& by_cell) = 0;
    /// A worker that is no member has put a task where these workers find it.
    virtual void announce_in(arena&, workers) = 0;
    /// What only workers of these ranks may run lies at the gate. If all of them are inactive, one is woken.
    virtual void wake_inactive(arena&, rank_range) noexcept {}
    /// The worker stops looking for work in its arena, with nothing to run.
    virtual void leave_search(worker&) noexcept = 0;
    /// Returns when worker::called_into was written and call() said so, or when the engine stops.
    virtual void await_team(worker&) = 0;
    /// worker::called_into of this worker was written.
    virtual void call(worker&) noexcept = 0;

protected:
    ~team_host() = default;
};

} // namespace weft::engine
