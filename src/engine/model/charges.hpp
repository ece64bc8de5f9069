#pragma once

#include "task/task.hpp"

namespace weft::engine {

/// What the runtime's own work takes on a core of speed 1, in nanoseconds; with all of them 0 only the program
/// takes time. The defaults are those of the threads engine on the reference machine (bench/README.md).
struct charges {
    time_ns fork = 1;       ///< a join in the silent zone
    time_ns spawn = 25;     ///< a child of a group, or a spawn that the policy sees
    time_ns start = 20;     ///< of a task, on a worker that has it
    time_ns suspend = 40;   ///< of a task that waits, and its resumption
    time_ns wait = 5;       ///< at the end of a group or a join
    time_ns look = 20;      ///< at a place of one's own
    time_ns look_away = 60; ///< at another's, where the machine gives no latency
    time_ns lock = 30;      ///< of a place that is shared
    time_ns wake = 2'000;   ///< for who wakes a sleeper
    time_ns woken = 40'000; ///< until the sleeper runs
    time_ns exposure = 1'000; ///< from an ask to the answer of a victim in the middle of user code
};

} // namespace weft::engine
