#pragma once

#include "task/task.hpp"

#include <boost/intrusive/set_hook.hpp>

namespace weft::engine {

/// Something to be done at a time. The timer belongs to the code that sets it and must stay at its address
/// until cancel_timer() has returned.
struct timer {
    time_ns at = 0; ///< by the engine's clock
    /// Called once, not before `at`, on a thread or in a context of the engine. Must neither block nor set
    /// timers.
    void (*fire)(timer&) noexcept = nullptr;
    boost::intrusive::set_member_hook<>
        link{}; ///< the engine's, while the timer is set: setting one allocates nothing
};

/// The timers of an engine; from any thread.
struct timers {
    /// Throws weft::error if no timer can be made.
    virtual void set_timer(timer&) = 0;
    /// When this function has returned, the timer either will not fire or has finished firing.
    virtual void cancel_timer(timer&) noexcept = 0;

protected:
    ~timers() = default;
};

} // namespace weft::engine
