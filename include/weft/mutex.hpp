#pragma once

#include <weft/impl/wait_queue.hpp>

namespace weft {

/// Mutual exclusion of tasks, and of threads that are no workers. Waiting suspends the task, not its worker.
/// A task may hold the mutex across joins and waits, and may unlock it on another thread. Waiting callers get
/// it first come, first served. Not recursive. Meets Lockable, so std::lock_guard, std::unique_lock and
/// std::scoped_lock work. It is undefined to destroy a mutex that is locked or waited for.
class mutex {
public:
    mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    /// Locks the mutex; waits while another caller holds it.
    void lock() noexcept {
        queue_.lock();
        if (!held_) {
            held_ = true;
            return queue_.unlock();
        }
        impl::waiter me("a mutex");
        queue_.push(me);
        queue_.unlock();
        me.sleep(); // the caller that unlocks leaves held_ set, for this one
    }

    /// Locks the mutex if it is free; otherwise returns false.
    bool try_lock() noexcept {
        queue_.lock();
        const bool taken = !held_;
        held_ = true;
        queue_.unlock();
        return taken;
    }

    /// Hands the mutex to the caller that has waited longest, or leaves it free.
    void unlock() noexcept {
        queue_.lock();
        impl::waiter* const next = queue_.pop();
        held_ = next != nullptr;
        queue_.unlock();
        impl::wake(next);
    }

private:
    impl::wait_queue queue_;
    bool held_ = false; // guarded by queue_
};

} // namespace weft
