#pragma once

#include "task/task.hpp"

namespace weft::engine {

/// Something to be done at a time. Belongs to who sets it, and stays where it is until it was cancelled.
struct timer {
    time_ns at = 0; ///< of the engine's clock
    /// Called once, not before `at`, on a thread or in a context of the engine's; must not block nor set
    /// timers.
    void (*fire)(timer&) noexcept = nullptr;
};

} // namespace weft::engine
