#pragma once

#include <weft/impl/wait_queue.hpp>

#include <cstddef>

namespace weft {

/// As std::latch: opens for good when it was counted down to 0. Waiting suspends the task, not its worker.
/// May be destroyed as soon as a wait has returned.
class latch {
public:
    /// To be counted down from `expected`.
    explicit latch(std::ptrdiff_t expected) noexcept : left_(expected) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// Counts down by `n` and does not wait.
    void count_down(std::ptrdiff_t n = 1) noexcept {
        queue_.lock();
        left_ -= n;
        impl::waiter* const all = left_ == 0 ? queue_.pop_all() : nullptr;
        queue_.unlock();
        impl::wake(all);
    }
    /// Is it open?
    bool try_wait() noexcept {
        queue_.lock();
        const bool open = left_ == 0;
        queue_.unlock();
        return open;
    }
    /// Waits until it is open.
    void wait() noexcept { arrive(0); }
    /// Counts down by `n` and waits until it is open.
    void arrive_and_wait(std::ptrdiff_t n = 1) noexcept { arrive(n); }

private:
    void arrive(std::ptrdiff_t n) noexcept {
        queue_.lock();
        left_ -= n;
        if (left_ == 0) {
            impl::waiter* const all = queue_.pop_all();
            queue_.unlock();
            return impl::wake(all);
        }
        impl::waiter me("a latch");
        queue_.push(me);
        queue_.unlock();
        me.sleep();
    }

    impl::wait_queue queue_;
    std::ptrdiff_t left_; // guarded by queue_
};

} // namespace weft
