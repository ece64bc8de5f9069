// The one door to atomics.
//
// Every concurrent structure of Weft is a template on a `Sync` traits class and accesses shared memory only
// through it. `std_sync` is the real machine. The model checks of tests/model bring their own class with the
// same names, in which every access is a step that the checker may interleave and every plain word is
// watched.
//
// What a Sync class provides:
//   atomic<T>            T a pointer, an integer, a bool, an enum. load, store, exchange,
//                        compare_exchange_strong(expected, desired, success, failure), fetch_add, fetch_sub,
//                        fetch_or, fetch_and, with the meaning of std::atomic. The order is always written
//                        out.
//   var<T>               plain shared data, never raced on: get(), set(value)
//   fence(order)         thread fence; use it for store-load (seq_cst) pairs only, publish by release stores
//   pause()              tells the core that this is a spinning loop
//   yield()              gives the core to another thread of the system
//   nap()                leaves the core for some microseconds, also to threads of lower priority
#pragma once

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <ctime>

namespace weft::queue {

// Plain shared data of the real machine: exactly a T.
template <class T>
class plain_var {
public:
    plain_var() noexcept = default;
    explicit plain_var(T value) noexcept : value_(value) {}
    T get() const noexcept { return value_; }
    void set(T value) noexcept { value_ = value; }

private:
    T value_{};
};

struct std_sync {
    template <class T>
    using atomic = std::atomic<T>;

    template <class T>
    using var = plain_var<T>;

    static void fence(std::memory_order order) noexcept {
// GCC warns that its ThreadSanitizer does not model fences. Here they only forbid store-load reordering, and
// no happens-before edge depends on one.
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wtsan"
#endif
        std::atomic_thread_fence(order);
#if defined(__GNUC__) && !defined(__clang__)
#    pragma GCC diagnostic pop
#endif
    }

    static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
        asm volatile("yield" ::: "memory");
#else
        std::atomic_signal_fence(std::memory_order::seq_cst);
#endif
    }

    static void yield() noexcept { ::sched_yield(); }

    static void nap() noexcept {
        const int saved_errno = errno;
        constexpr timespec some{.tv_sec = 0, .tv_nsec = 50'000};
        ::nanosleep(&some, nullptr);
        errno = saved_errno;
    }
};

} // namespace weft::queue
