#pragma once

#include "task/sanitizers.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weft::engine {

/// A waiting thread that is no worker. Its address, tagged, is the word of the waiter. Meanwhile the thread may work
/// as a worker (host::wait_outside).
class thread_waiter {
public:
    thread_waiter() noexcept { sanitizer::happens_before(this); }
    std::uintptr_t word() const noexcept { return reinterpret_cast<std::uintptr_t>(this) | 1; }
    void wait() {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [&] { return is_woken(); });
    }
    /// False if the thread was not woken within that time.
    bool wait_for(std::chrono::nanoseconds at_most) {
        std::unique_lock lock(mutex_);
        return woken_.wait_for(lock, at_most, [&] { return is_woken(); });
    }
    bool is_woken() const noexcept {
        // seq_cst: pairs with the store in wake(), also after the arming of a parker
        return is_woken_.load(std::memory_order_seq_cst);
    }

    /// From now on wake() calls `notify(argument)`, since the thread does not wait in wait(). False if it was
    /// woken before.
    bool begin_work(void (*notify)(void*) noexcept, void* argument) noexcept {
        const std::lock_guard lock(mutex_);
        if (is_woken()) return false;
        notify_ = notify;
        argument_ = argument;
        return true;
    }
    /// The end of that. When it returns, a call of `notify` is over.
    void end_work() noexcept {
        const std::lock_guard lock(mutex_);
        notify_ = nullptr;
    }

    /// Notifies under the lock, so that the waiter cannot return and destroy this object before the call is
    /// over.
    void wake() noexcept {
        sanitizer::happens_after(this);
        const std::lock_guard lock(mutex_);
        is_woken_.store(true, std::memory_order_seq_cst); // before a parker is looked at
        if (notify_)
            notify_(argument_);
        else
            woken_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable woken_;
    std::atomic<bool> is_woken_{false};
    void (*notify_)(void*) noexcept = nullptr; ///< with argument_, guarded by mutex_
    void* argument_ = nullptr;
};

inline thread_waiter& thread_waiter_of(std::uintptr_t word) noexcept {
    return *reinterpret_cast<thread_waiter*>(word & ~std::uintptr_t{1});
}

} // namespace weft::engine
