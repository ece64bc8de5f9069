#pragma once

#include "runtime/tool.hpp"

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

/// The same, with what a tool is to see.
inline void acquire_as(tool::mutex kind, lock_word& l, const void* from) {
    if (!tool::is_on()) [[likely]]
        return acquire(l);
    tool::mutex_event(tool::event::mutex_acquire, kind, &l, from);
    acquire(l);
    tool::mutex_event(tool::event::mutex_acquired, kind, &l, from);
}
inline void release_as(tool::mutex kind, lock_word& l, const void* from) noexcept {
    release(l);
    if (tool::is_on()) [[unlikely]]
        tool::mutex_event(tool::event::mutex_released, kind, &l, from);
}
inline bool try_acquire_as(tool::mutex kind, lock_word& l, const void* from) noexcept {
    if (!tool::is_on()) [[likely]]
        return try_acquire(l);
    tool::mutex_event(tool::event::mutex_acquire, kind, &l, from);
    const bool has_it = try_acquire(l);
    if (has_it) tool::mutex_event(tool::event::mutex_acquired, kind, &l, from);
    return has_it;
}

} // namespace weft::openmp
