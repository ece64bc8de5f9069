#pragma once

#include <atomic>
#include <cstdint>

/// Locks of 4 bytes, as omp_lock_t has. Waiting suspends the task.
///
///   value | meaning
///   0     | free
///   1     | held
///   2     | held, and others may wait
namespace weft::openmp {

using lock_word = std::atomic<std::uint32_t>;

void acquire_slow_path(lock_word&);
void wake_one_waiter(lock_word&) noexcept;

inline bool try_acquire(lock_word& l) noexcept {
    std::uint32_t free = 0;
    // acquire: pairs with the exchange in release()
    return l.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
}
inline void acquire(lock_word& l) {
    if (!try_acquire(l)) [[unlikely]]
        acquire_slow_path(l);
}
inline void release(lock_word& l) noexcept {
    // release: what the holder has written, for the next acquire
    if (l.exchange(0, std::memory_order_release) == 2) [[unlikely]]
        wake_one_waiter(l);
}

} // namespace weft::openmp
