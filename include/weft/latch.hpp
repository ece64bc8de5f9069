#pragma once

#include <weft/impl/wait_queue.hpp>

#include <cstddef>

namespace weft {

/// Like std::latch: opens for good when its count reaches 0. Waiting suspends the task, not its worker. A
/// latch may be destroyed as soon as a wait has returned.
class latch {
public:
    /// The count begins at `expected`, at least 0.
    explicit latch(std::ptrdiff_t expected) noexcept : left_(expected) {}
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;

    /// Lowers the count by `n`, which must not be more than the count. Does not wait.
    void count_down(std::ptrdiff_t n = 1) noexcept {
        queue_.lock();
        left_ -= n;
        impl::waiter* const all = left_ == 0 ? queue_.pop_all() : nullptr;
        queue_.unlock();
        impl::wake(all);
    }
    /// True if the latch is open.
    bool try_wait() noexcept {
        queue_.lock();
        const bool open = left_ == 0;
        queue_.unlock();
        return open;
    }
    /// Returns when the latch is open.
    void wait() noexcept { arrive(0); }
    /// Lowers the count by `n` and returns when the latch is open.
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
