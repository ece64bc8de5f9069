#pragma once

#include <weft/hints.hpp>

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

} // namespace weft::engine
