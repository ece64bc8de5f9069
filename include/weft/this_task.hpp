#pragma once

#include <weft/impl/wait_queue.hpp>

#include <chrono>

namespace weft::this_task {

/// Rank of the worker that runs the calling code, -1 in a thread that is no worker. Any call of the library
/// that may wait may change it.
int worker() noexcept;

/// Lets other ready tasks of this worker go first; in a thread that is no worker, other threads.
void yield() noexcept;

/// True when a group that the calling task belongs to, directly or by the groups around it, was cancelled.
bool is_cancelled() noexcept;

/// Suspends the calling task, not its worker. Throws weft::error when there is no timer to be had.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    if (d <= d.zero()) return yield();
    impl::wait_queue nobody;
    impl::waiter me("its alarm");
    nobody.lock();
    nobody.push(me);
    nobody.unlock();
    static_cast<void>(me.sleep_for(nobody, impl::at_most(d)));
}
/// The same up to a point in time.
template <class Clock, class Duration>
void sleep_until(std::chrono::time_point<Clock, Duration> end) {
    sleep_for(end - Clock::now());
}

} // namespace weft::this_task
