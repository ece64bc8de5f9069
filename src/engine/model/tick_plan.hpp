#pragma once

#include "engine/worker/preemption_options.hpp"
#include "machine/parts.hpp"
#include "task/task.hpp"

namespace weft::engine {

/// When virtual workers get ticks of the preemption timers, and what a tick takes: the arithmetic, without any state.
/// model_engine::compute() carries it out.
///
/// Worker w gets its ticks at phase(w) + k * interval. Where each worker has a timer of its own the phases are all 0
/// (`created`: the workers are made at the same time), or spread evenly (`aligned`). Where a group shares a timer the tick
/// comes to its first worker, and to the others when it has been sent on.
class tick_plan {
public:
    tick_plan(const preemption_options&, const preemption_charges&, int workers);

    time_ns first_after(worker_id w, time_ns t) const noexcept;

    /// What the tick takes on worker w without preempting its task, in nanoseconds on a core of speed 1. `ticks(v)`: worker v
    /// runs a task that may be preempted, so it gets ticks.
    template <class Ticks>
    double interrupt_ns(worker_id w, Ticks&& ticks) const {
        const int group = groups_.of(w);
        int sharers = 0, colliders = 0;
        for (worker_id v = 0; v < workers_; ++v) {
            if (v == w || !ticks(v)) continue;
            if (groups_.of(v) == group) ++sharers;
            if (collide(v, w)) ++colliders;
        }
        double ns = price_.interrupt;
        if (has_own_timers()) return ns + price_.contention * colliders;
        if (how_.timers == tick_timers::one_to_all) return ns + price_.one_to_all * sharers;
        return ns + (sharers > 0 ? price_.forward : 0);
    }
    /// What it takes besides if the task is preempted.
    double switch_ns(preemption type) const noexcept;

private:
    bool has_own_timers() const noexcept {
        return how_.timers == tick_timers::created || how_.timers == tick_timers::aligned;
    }
    time_ns phase(worker_id w) const noexcept;
    /// The second one's tick comes while the handler of the first one runs, or the other way round.
    bool collide(worker_id a, worker_id b) const noexcept;

    const preemption_options how_;
    const preemption_charges price_;
    const tick_groups groups_;
    const int workers_;
};

} // namespace weft::engine
