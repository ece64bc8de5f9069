#pragma once

#include <weft/mutex.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace weft {

/// Like std::condition_variable, for weft::mutex. Waiting suspends the task, not its worker. There are no
/// spurious wake-ups. notify_one() wakes the caller that has waited longest.
class condition_variable {
public:
    condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;

    /// Wakes one waiting caller, if there is one.
    void notify_one() noexcept {
        queue_.lock();
        impl::waiter* const first = queue_.pop();
        queue_.unlock();
        impl::wake(first);
    }
    /// Wakes all waiting callers.
    void notify_all() noexcept {
        queue_.lock();
        impl::waiter* const all = queue_.pop_all();
        queue_.unlock();
        impl::wake(all);
    }

    /// Unlocks the mutex and waits, in one step. The mutex is locked again when wait() returns.
    void wait(std::unique_lock<mutex>& held) noexcept {
        impl::waiter me("a condition variable");
        begin(me, held);
        me.sleep();
        held.lock();
    }
    /// Waits until `is_so()` returns true. `is_so` is called with the mutex locked.
    template <class Predicate>
    void wait(std::unique_lock<mutex>& held, Predicate&& is_so) {
        while (!is_so()) wait(held);
    }

    /// Like wait(), for at most `at_most`. Throws weft::error if the system provides no timer; the mutex is
    /// locked then, too.
    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<mutex>& held, std::chrono::duration<Rep, Period> at_most) {
        impl::waiter me("a condition variable");
        begin(me, held);
        struct relock {
            std::unique_lock<mutex>& held;
            ~relock() { held.lock(); }
        } const at_end{held};
        const auto d = impl::at_most(at_most);
        return me.sleep_for(queue_, d) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    /// Waits until `is_so()` returns true, for at most `at_most`. Returns the last value of `is_so()`.
    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<mutex>& held, std::chrono::duration<Rep, Period> at_most,
                  Predicate&& is_so) {
        return wait_until(held, std::chrono::steady_clock::now() + at_most, std::forward<Predicate>(is_so));
    }
    /// Like wait_for(), until the point in time `end`.
    template <class Clock, class Duration>
    std::cv_status wait_until(std::unique_lock<mutex>& held, std::chrono::time_point<Clock, Duration> end) {
        return wait_for(held, end - Clock::now());
    }
    /// Like wait_for() with a predicate, until the point in time `end`.
    template <class Clock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<mutex>& held, std::chrono::time_point<Clock, Duration> end,
                    Predicate&& is_so) {
        while (!is_so())
            if (wait_until(held, end) == std::cv_status::timeout) return is_so();
        return true;
    }

private:
    void begin(impl::waiter& me, std::unique_lock<mutex>& held) noexcept {
        queue_.lock();
        queue_.push(me);
        queue_.unlock();
        held.unlock();
    }

    impl::wait_queue queue_;
};

} // namespace weft
