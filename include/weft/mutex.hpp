#pragma once

#include <weft/impl/wait_queue.hpp>

namespace weft {

/// Mutual exclusion of tasks, and of threads that are no workers. Waiting suspends the task, not its worker.
/// A task may hold it across joins and waits and be on another thread when it unlocks. Handed to those who
/// wait in the order of their coming. Not recursive; meets Lockable, so std::lock_guard, std::unique_lock and
/// std::scoped_lock work. Destroying it while it is held or waited for is undefined.
class mutex {
public:
    mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    /// Waits for it.
    void lock() noexcept {
        queue_.lock();
        if (!held_) {
            held_ = true;
            return queue_.unlock();
        }
        impl::waiter me("a mutex");
        queue_.push(me);
        queue_.unlock();
        me.sleep(); // whoever unlocks leaves it held, for us
    }

    /// Takes it if nobody has it; false if somebody has.
    bool try_lock() noexcept {
        queue_.lock();
        const bool taken = !held_;
        held_ = true;
        queue_.unlock();
        return taken;
    }

    /// Hands it to the first who waits.
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
