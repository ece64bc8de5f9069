#pragma once

#include <weft/hints.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weft::engine {

/// Which workers have a timer, and when it fires. A *group* of workers shares one timer; its other members are sent the
/// tick by those that have it.
enum class tick_timers : std::uint8_t {
    created,    ///< one for each worker, from the moment that the worker needs it
    aligned,    ///< one for each worker; the phases are spread evenly over the interval
    one_to_all, ///< one group: the worker with the timer sends the tick to all others
    chain,      ///< one group: each worker sends the tick to the next one
    hybrid,     ///< several groups with aligned phases; a chain in each
};

/// Where a stopped kernel thread waits.
enum class parking : std::uint8_t {
    sigsuspend,  ///< in sigsuspend(), until it gets a signal; spare threads are in one pool
    futex,       ///< on a futex; spare threads are in one pool
    futex_local, ///< on a futex; each worker has a pool of spare threads
};

struct preemption_options {
    preemption type = preemption::off; ///< of tasks without a type of their own; not runtime_default
    std::chrono::nanoseconds interval = std::chrono::milliseconds(1);
    tick_timers timers = tick_timers::aligned;
    int groups = 0; ///< of hybrid, 1 or more
    parking park = parking::futex_local;
};

/// Which workers share a timer: groups of adjacent ranks, which differ by one worker at most.
class tick_groups {
public:
    tick_groups(const preemption_options& o, int workers) noexcept
        : workers_(workers)
        , count_(o.timers == tick_timers::hybrid    ? std::clamp(o.groups, 1, workers)
                 : o.timers == tick_timers::created ? workers
                 : o.timers == tick_timers::aligned ? workers
                                                    : 1)
        , interval_ns_(o.interval.count()) {}

    int count() const noexcept { return count_; }
    int of(int worker) const noexcept { return worker * count_ / workers_; }
    int first(int group) const noexcept {
        return (group * workers_ + count_ - 1) / count_;
    } ///< as of() counts
    int last(int group) const noexcept { return first(group + 1); } ///< behind its last one
    /// The share of the interval by which the group's timer is shifted, where phases are aligned.
    std::int64_t phase_ns(int group) const noexcept { return interval_ns_ * group / count_; }

private:
    int workers_, count_;
    std::int64_t interval_ns_;
};

} // namespace weft::engine
