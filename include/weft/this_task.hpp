#pragma once

#include <weft/impl/wait_queue.hpp>

#include <chrono>

namespace weft::this_task {

/// Rank of the worker that runs the calling code; -1 in a thread that is no worker. Any call of the library
/// that may wait may change it.
int worker() noexcept;

/// Lets other ready tasks of this worker run first. In a thread that is no worker, lets other threads run.
void yield() noexcept;

/// True if the group of the calling task, or a group around that one, was cancelled.
bool is_cancelled() noexcept;

/// Suspends the calling task, not its worker, for the duration `d`; yields if `d` is not positive. Throws
/// weft::error if the system provides no timer.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    if (d <= d.zero()) return yield();
    impl::wait_queue alarm;
    impl::waiter me("its alarm");
    alarm.lock();
    alarm.push(me);
    alarm.unlock();
    static_cast<void>(me.sleep_for(alarm, impl::at_most(d)));
}
/// Like sleep_for(), until the point in time `end`.
template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> end) {
    sleep_for(end - Clock::now());
}

} // namespace weft::this_task
