#pragma once

#include "task/fiber.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/// What the program's sanitizer is told of a switch from one stack to another.
namespace weft::sanitizer {

/// The exposure signal does not come between the steps of a switch. By the system call itself: the sanitizer would look
/// at the memory of pthread_sigmask's arguments.
[[gnu::always_inline]] inline void hold_signals(int how) noexcept {
    static constexpr std::uint64_t mask = std::uint64_t{1} << (SIGURG - 1);
    syscall(SYS_rt_sigprocmask, how, &mask, nullptr, sizeof mask);
}

/// A call at whose end ThreadSanitizer delivers the signals that it has kept with the current fiber; after a switch they would
/// be stranded there. At the first one on a fiber it maps the memory for the fiber's signals, and would lose a signal that
/// comes in the middle of that (GCC 12); hence both while signals are held.
[[gnu::always_inline]] inline void deliver_signals() noexcept { pthread_kill(pthread_self(), 0); }

/// On the stack of `from`, just before the jump.
[[gnu::always_inline]] inline void leave(fiber& from, fiber& to) noexcept {
    if (has_asan()) {
        const bool is_own = !to.memory.base; // a thread's own
        const auto* const bottom = is_own ? to.sanitized.asan_bottom : to.memory.limit();
        const std::size_t bytes =
            is_own ? to.sanitized.asan_bytes
                   : static_cast<std::size_t>(reinterpret_cast<std::byte*>(&to) - to.memory.limit());
        __sanitizer_start_switch_fiber(&from.sanitized.asan_fake_stack, bottom, bytes);
    }
    if (has_tsan()) {
        hold_signals(SIG_BLOCK);
        deliver_signals();
        __tsan_switch_to_fiber(to.sanitized.tsan_fiber,
                               0); // 0: what this thread has done so far comes before
    }
}

/// On the stack of `to`, just after the jump.
[[gnu::always_inline]] inline void arrive(fiber& from, fiber& to) noexcept {
    if (has_tsan()) hold_signals(SIG_UNBLOCK);
    if (has_asan()) {
        const void* bottom = nullptr;
        std::size_t bytes = 0;
        __sanitizer_finish_switch_fiber(to.sanitized.asan_fake_stack, &bottom, &bytes);
        if (!from.memory.base && !from.sanitized.asan_bottom)
            from.sanitized = {from.sanitized.tsan_fiber, from.sanitized.asan_fake_stack, bottom, bytes};
    }
}

/// Both, after the jump: for a library that is not instrumented, in which the sanitizer notices nothing between them.
[[gnu::cold]] void announce_switch(fiber& from, fiber& to) noexcept;
/// A fiber was made; a fiber ends.
void begin_fiber(stack_state&) noexcept;
void end_fiber(stack_state&) noexcept;
/// Before the first switch.
void begin_switches() noexcept;

} // namespace weft::sanitizer
