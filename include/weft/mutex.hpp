#pragma once

#include <weft/impl/wait_queue.hpp>

#include <cstdint>

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

    /// Locks the mutex; waits while another caller holds it. A caller that holds it already would wait for ever: the
    /// program ends with status 1 and a message on standard error.
    void lock() noexcept {
        const std::uintptr_t caller = queue_.lock_as_caller();
        if (owner_ == 0) [[likely]] {
            owner_ = caller;
            queue_.unlock();
        } else {
            if (owner_ == caller) impl::report_relock();
            impl::waiter me("a mutex", caller);
            queue_.push(me);
            queue_.unlock();
            if (impl::locks_are_watched()) impl::tell_of_lock(this, impl::lock_event::waits);
            me.sleep(); // the caller that unlocks makes this one the owner
        }
        if (impl::locks_are_watched()) [[unlikely]]
            impl::tell_of_lock(this, impl::lock_event::taken);
    }

    /// Locks the mutex if it is free; otherwise returns false.
    bool try_lock() noexcept {
        const std::uintptr_t caller = queue_.lock_as_caller();
        const bool is_free = owner_ == 0;
        if (is_free) owner_ = caller;
        queue_.unlock();
        if (is_free && impl::locks_are_watched()) [[unlikely]]
            impl::tell_of_lock(this, impl::lock_event::taken);
        return is_free;
    }

    /// Hands the mutex to the caller that has waited longest, or leaves it free.
    void unlock() noexcept {
        if (impl::locks_are_watched()) [[unlikely]]
            impl::tell_of_lock(this, impl::lock_event::released);
        queue_.lock();
        if (queue_.empty()) [[likely]] {
            owner_ = 0;
            return queue_.unlock();
        }
        impl::waiter* const next = queue_.pop();
        owner_ = next->caller();
        queue_.unlock();
        impl::wake(next);
    }

private:
    impl::wait_queue queue_;
    std::uintptr_t owner_ = 0; // the caller that holds the mutex; 0: it is free; guarded by queue_
};

} // namespace weft
