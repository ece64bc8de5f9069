#include "engine/model/tick_plan.hpp"

#include "engine/model/virtual_clock.hpp"

#include <algorithm>
#include <cstdlib>

namespace weft::engine {

tick_plan::tick_plan(const preemption_options& how, const preemption_charges& price, int workers)
    : how_(how)
    , price_(price)
    , groups_(how, workers)
    , workers_(workers) {}

time_ns tick_plan::phase(worker_id w) const noexcept {
    if (how_.timers == tick_timers::created) return 0;
    const int group = groups_.of(w);
    // A worker of a chain sends the tick on when it has handled it; the one with the timer sends it to all others in a row.
    const double each =
        how_.timers == tick_timers::one_to_all ? price_.one_to_all : price_.interrupt + price_.forward;
    return (groups_.phase_ns(group) + whole_ns(each * (w - groups_.first(group)))) % how_.interval.count();
}

time_ns tick_plan::first_after(worker_id w, time_ns t) const noexcept {
    const time_ns interval = how_.interval.count(), at = phase(w);
    return t < at ? at : at + ((t - at) / interval + 1) * interval;
}

bool tick_plan::collide(worker_id a, worker_id b) const noexcept {
    const time_ns interval = how_.interval.count(), apart = std::abs(phase(a) - phase(b));
    return static_cast<double>(std::min(apart, interval - apart)) < std::max(price_.interrupt, 1.0);
}

double tick_plan::switch_ns(preemption type) const noexcept {
    if (type != preemption::klt) return price_.yield;
    switch (how_.park) {
    case parking::sigsuspend: return price_.klt_sigsuspend;
    case parking::futex: return price_.klt_futex;
    case parking::futex_local: break;
    }
    return price_.klt;
}

} // namespace weft::engine
