#pragma once

#include "engine/threads/parker.hpp"
#include "queue/sync.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft::engine {

/// The system calls of a parker. A thread waits while the word has that value, for some of the `bits`;
/// it may return early.
struct futex_calls {
    using word = std::atomic<std::uint32_t>;
    /// `until`: on CLOCK_MONOTONIC, or null.
    static void wait(word& at, std::uint32_t value, const timespec* until, std::uint32_t bits) noexcept {
        syscall(SYS_futex, &at, FUTEX_WAIT_BITSET_PRIVATE, value, until, nullptr, bits);
    }
    static void wake_one(word& at, std::uint32_t bits) noexcept {
        const int saved_errno = errno;
        syscall(SYS_futex, &at, FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr, bits);
        errno = saved_errno;
    }
};

using futex_parker = parker<queue::std_sync, futex_calls>;

} // namespace weft::engine
