#pragma once

#include <weft/impl/wait_queue.hpp>

#include <chrono>
#include <cstddef>
#include <limits>

namespace weft {

/// Like std::counting_semaphore. Waiting suspends the task, not its worker. Released units go to the waiting
/// callers, first come, first served.
template <std::ptrdiff_t LeastMax = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
public:
    /// `count` units are available, at least 0.
    explicit counting_semaphore(std::ptrdiff_t count) noexcept : count_(count) {}
    counting_semaphore(const counting_semaphore&) = delete;
    counting_semaphore& operator=(const counting_semaphore&) = delete;

    /// The largest count that the type declares; it is not checked.
    static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

    /// Releases `n` units: one to each waiting caller, and the rest to later callers.
    void release(std::ptrdiff_t n = 1) noexcept {
        for (; n > 0; --n) {
            queue_.lock();
            impl::waiter* const first = queue_.pop();
            if (!first) count_ += n;
            queue_.unlock();
            if (!first) return;
            impl::wake(first);
        }
    }
    /// Takes one unit; waits if there is none.
    void acquire() noexcept {
        impl::waiter me("a semaphore");
        if (!take_or_queue(me)) me.sleep();
    }
    /// Takes one unit if there is one now; otherwise returns false.
    bool try_acquire() noexcept {
        queue_.lock();
        const bool taken = count_ > 0;
        count_ -= taken;
        queue_.unlock();
        return taken;
    }
    /// Takes one unit; waits at most `at_most`. Returns false if the time is over. Throws weft::error if the
    /// system provides no timer.
    template <class Rep, class Period>
    bool try_acquire_for(std::chrono::duration<Rep, Period> at_most) {
        impl::waiter me("a semaphore");
        return take_or_queue(me) || me.sleep_for(queue_, impl::at_most(at_most));
    }
    /// Like try_acquire_for(), until the point in time `end`.
    template <class Clock, class Duration>
    bool try_acquire_until(std::chrono::time_point<Clock, Duration> end) {
        return try_acquire_for(end - Clock::now());
    }

private:
    bool take_or_queue(impl::waiter& me) noexcept {
        queue_.lock();
        const bool taken = count_ > 0;
        if (taken)
            --count_;
        else
            queue_.push(me);
        queue_.unlock();
        return taken;
    }

    impl::wait_queue queue_;
    std::ptrdiff_t count_; // guarded by queue_; 0 while a caller waits
};

/// Like std::binary_semaphore.
using binary_semaphore = counting_semaphore<1>;

} // namespace weft
