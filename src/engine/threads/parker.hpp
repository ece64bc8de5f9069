#pragma once

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

/// Where one worker sleeps. A wake() may precede sleep(), which then returns at once. Callable in a signal
/// handler.
///
///   arm()                  the worker: from here on a wake() is remembered
///   sleep(), sleep_for()   the worker: until a wake() since arm(), or for that time at most
///   disarm()               the worker: a wake() does nothing any more
///   wake()                 any thread
class futex_parker {
public:
    // seq_cst, before the last look: idle/README.md, "Sleep", step 1
    void arm() noexcept { word_.store(armed, std::memory_order_seq_cst); }
    void sleep() noexcept {
        while (word_.load(std::memory_order_acquire) == armed) // pairs with the exchange in wake()
            syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, armed, nullptr, nullptr, 0);
    }
    void sleep_for(std::chrono::nanoseconds at_most) noexcept {
        const auto s = std::chrono::duration_cast<std::chrono::seconds>(at_most);
        const timespec limit{.tv_sec = s.count(), .tv_nsec = (at_most - s).count()};
        if (word_.load(std::memory_order_acquire) == armed) // pairs with the exchange in wake()
            syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, armed, &limit, nullptr, 0);
    }
    void disarm() noexcept { word_.store(awake, std::memory_order_relaxed); }
    /// True if the parker was armed.
    bool wake() noexcept {
        if (word_.load(std::memory_order_relaxed) != armed) return false;
        // release: what the waker wrote before, for the load in sleep()
        if (word_.exchange(awake, std::memory_order_acq_rel) != armed) return false;
        const int saved_errno = errno;
        syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        errno = saved_errno;
        return true;
    }

private:
    static constexpr std::uint32_t awake = 0, armed = 1;
    std::atomic<std::uint32_t> word_{
        awake}; ///< armed by the worker; set to awake by the worker and by wakers
};

} // namespace weft::engine
