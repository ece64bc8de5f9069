#include "engine/observe/busy_parts.hpp"

#include <algorithm>

namespace weft::engine {

kernel_count kernel_count::since(const kernel_count& earlier) const noexcept {
    kernel_count d{std::max<time_ns>(cpu - earlier.cpu, 0),
                   {},
                   std::max<time_ns>(queued_asleep - earlier.queued_asleep, 0),
                   sleeps - earlier.sleeps,
                   open_wait + earlier.open_wait};
    if (queued && earlier.queued) d.queued = std::max<time_ns>(*queued - *earlier.queued, 0);
    return d;
}

void kernel_count::add(const kernel_count& other) noexcept {
    cpu += other.cpu;
    if (queued && other.queued)
        *queued += *other.queued;
    else
        queued.reset();
    queued_asleep += other.queued_asleep;
    sleeps += other.sleeps;
    open_wait += other.open_wait;
}

void busy_parts::add(const busy_parts& other) noexcept {
    on_core += other.on_core;
    blocked += other.blocked;
    uncertain += other.uncertain;
    if (waiting && other.waiting) {
        *waiting += *other.waiting;
    } else {
        blocked += waiting.value_or(0) + other.waiting.value_or(0);
        waiting.reset();
    }
}

busy_parts divide(const awake_time& t, const kernel_count& k) noexcept {
    const time_ns awake = t.busy + t.search;
    const time_ns off_core = std::clamp<time_ns>(awake - k.cpu, 0, awake);
    busy_parts p;
    // What does not fit between 0 and the whole shows how far the accounts of the kernel and of the worker differ.
    const time_ns too_much = std::max<time_ns>(k.cpu - awake, 0);
    p.uncertain = too_much + static_cast<time_ns>(k.sleeps) * cost_of_a_sleep + k.open_wait;
    if (!k.queued) {
        p.blocked = std::min(off_core, t.busy);
        p.uncertain += std::min(off_core, t.search); // the search may have waited for a core
    } else {
        const time_ns queued = std::clamp<time_ns>(*k.queued - k.queued_asleep, 0, off_core);
        p.uncertain += std::max<time_ns>(*k.queued - k.queued_asleep - off_core, 0);
        p.blocked = std::min(off_core - queued, t.busy);
        const time_ns most = std::min(queued, t.busy - p.blocked);
        const time_ns least = std::clamp<time_ns>(queued - t.search, 0, most);
        const double share = awake > 0 ? static_cast<double>(t.busy) / static_cast<double>(awake) : 0;
        p.waiting = std::clamp(static_cast<time_ns>(static_cast<double>(queued) * share), least, most);
        p.uncertain += std::max(most - *p.waiting, *p.waiting - least);
    }
    p.on_core = t.busy - p.waiting.value_or(0) - p.blocked;
    p.uncertain = std::min(p.uncertain, t.busy);
    return p;
}

} // namespace weft::engine
