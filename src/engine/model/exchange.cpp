#include "engine/model/model_engine.hpp"
#include "engine/model/virtual_clock.hpp"

#include <algorithm>
#include <optional>
#include <utility>

/// Workers that change cores in virtual time. The caches, and what is in them, stay with the cores; a wait for data that
/// has begun ends as it would have. Work goes on at the speed of the new core, after what the exchange costs each of
/// the two workers (machine_parts::exchange_ns) and after what the task works on has come there: the data that it has
/// declared for reading and writing. What it only reads, or only writes, it uses once.
namespace weft::engine {

bool model_engine::exchange_cores(worker& a, worker& b) noexcept {
    auto &x = static_cast<model_worker&>(a), &y = static_cast<model_worker&>(b);
    for (model_worker* const w : {&x, &y}) {
        w->exchange_ns += machine.parts().exchange_ns;
        if (!w->work_ends) continue; // it pays when it spends its charges
        sim->events.cancel(*std::exchange(w->work_ends, std::nullopt));
        w->changed_core = true;
        sim->resume_worker(*w, 0);
    }
    const int core = x.core();
    x.set_core(y.core());
    y.set_core(core);
    return true;
}

std::optional<double> model_engine::work_until(model_worker& w, double ns, work_kind kind, activity what,
                                               time_ns until, time_ns& spent) noexcept {
    for (;;) {
        const time_ns began = now(), had_waited = w.times.spent(activity::waits_for_core);
        const int core = w.core();
        const double fraction = w.time_fraction, takes = sim->speed.duration(core, ns, kind, began, fraction);
        const bool ends = until == end_of_time || at_or_after(began, fraction + takes) <= until;
        w.works = true;
        if (ends) {
            spend_time(w, takes, what);
        } else {
            w.time_fraction = 0;
            set_activity(w, what);
            sim->advance(w, until - began);
            set_activity(w, what);
        }
        w.works = false;
        spent += now() - began - (w.times.spent(activity::waits_for_core) - had_waited);
        const auto left = [&] {
            return std::max(0.0, ns - sim->speed.work_until(core, kind, began, fraction, now()));
        };
        if (!std::exchange(w.changed_core, false)) return ends ? std::nullopt : std::optional(left());
        ns = left();
        w.time_fraction = 0;
        spend_time(w, std::exchange(w.exchange_ns, 0), activity::overhead);
        if (what == activity::compute) bring_along(w);
        if (now() >= until) return ns;
    }
}

void model_engine::bring_along(model_worker& w) noexcept {
    for (const auto& [first, bytes] : w.works_on)
        sim->data.touch(w.core(), first, bytes, access::readwrite, w.touched, static_cast<double>(now()));
    await_data(w);
    w.waited_ns = 0; // the rest of the cost begins after it
}

} // namespace weft::engine
