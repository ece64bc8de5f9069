#pragma once

#include "policy/seam/policy.hpp"

#include "queue/sync.hpp"

namespace weft {

/// Which worker takes from which pool when as many pools as there are workers in all are served by fewer: arithmetic.
/// Pools below privates() belong to one active worker each; every active worker takes from the rest, the shared ones.
struct packed_pools {
    int pools;  ///< as many as there are workers in all
    int active; ///< workers, 1 to `pools`

    int of_each() const noexcept { return pools / active; } ///< private pools of one worker
    int privates() const noexcept { return active * of_each(); }
    int shared() const noexcept { return pools - privates(); }
    bool is_shared(int pool) const noexcept { return pool >= privates(); }
    int private_pool(worker_id of, int which) const noexcept { return of + which * active; }
    worker_id owner(int private_pool) const noexcept { return private_pool % active; }
};

/// P1: No task stays in a pool whose owner sleeps. Of the workers that may sleep only the owner of the pool looks there, and
/// the owner changes with the number of active workers, which the engine writes before a fence and before
/// policy::resized(), and resized() wakes all active workers. So a task is put into its pool, then comes a fence, and then
/// the number is read again. If it is still `before`, this fence precedes that of the engine: the looks of the workers that
/// resized() wakes, and of those that go to sleep later, see the task. Otherwise all workers are woken here.
///
/// Returns the workers that may run a task which was just put into the pool, as placement has them. `active()` reads the number
/// of active workers, `wake_all()` wakes them.
template <class Sync, class Active, class WakeAll>
workers workers_for(int pool, const packed_pools& before, Active&& active, WakeAll&& wake_all) {
    Sync::fence(std::memory_order::seq_cst); // pairs with that of the engine before resized()
    if (active() != before.active) {
        wake_all();
        return {};
    }
    if (before.is_shared(pool)) return {0, before.active};
    const worker_id owner = before.owner(pool);
    return {owner, owner + 1};
}

} // namespace weft
