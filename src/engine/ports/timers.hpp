#pragma once

#include "task/task.hpp"

namespace weft::engine {

/// Something to be done at a time. The timer belongs to the code that sets it, and stays where it is until it was
/// cancelled.
struct timer {
    time_ns at = 0; ///< of the engine's clock
    /// Called once, not before `at`, on a thread or in a context of the engine's. Must neither block nor set
    /// timers.
    void (*fire)(timer&) noexcept = nullptr;
};

/// The timers of an engine; from any thread.
struct timers {
    /// Throws weft::error when there is no timer to be had.
    virtual void set_timer(timer&) = 0;
    /// When this has returned, the timer does not fire, or has fired to the end.
    virtual void cancel_timer(timer&) noexcept = 0;

protected:
    ~timers() = default;
};

} // namespace weft::engine
