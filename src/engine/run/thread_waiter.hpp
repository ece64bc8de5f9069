#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace weft::engine {

/// A waiting thread that is no worker. Its address, tagged, is the word of the waiter.
class thread_waiter {
public:
    std::uintptr_t word() const noexcept { return reinterpret_cast<std::uintptr_t>(this) | 1; }
    void wait() {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [&] { return done_; });
    }
    /// False if the thread was not woken within that time.
    bool wait_for(std::chrono::nanoseconds at_most) {
        std::unique_lock lock(mutex_);
        return woken_.wait_for(lock, at_most, [&] { return done_; });
    }
    /// Notifies under the lock, so that the waiter cannot return and destroy this object before the call is
    /// over.
    void wake() noexcept {
        std::lock_guard lock(mutex_);
        done_ = true;
        woken_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable woken_;
    bool done_ = false;
};

inline thread_waiter& thread_waiter_of(std::uintptr_t word) noexcept {
    return *reinterpret_cast<thread_waiter*>(word & ~std::uintptr_t{1});
}

} // namespace weft::engine
