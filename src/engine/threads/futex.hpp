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

/// The system calls of a parker. A thread waits while the word has that value, for some of the bits of `who`;
/// it may return early.
struct futex_calls {
    using word = std::atomic<std::uint32_t>;
    /// `until`: on CLOCK_MONOTONIC, or null.
    static void wait(word& at, std::uint32_t value, const timespec* until, std::uint32_t who) noexcept {
        syscall(SYS_futex, &at, FUTEX_WAIT_BITSET_PRIVATE, value, until, nullptr, who);
    }
    static void wake_one(word& at, std::uint32_t who) noexcept {
        const int saved_errno = errno;
        syscall(SYS_futex, &at, FUTEX_WAKE_BITSET_PRIVATE, 1, nullptr, nullptr, who);
        errno = saved_errno;
    }
};

using futex_parker = parker<queue::std_sync, futex_calls>;

} // namespace weft::engine
