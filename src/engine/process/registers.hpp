#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <ucontext.h>

/// The registers of a thread that a signal has interrupted.
namespace weft::engine {

inline std::uintptr_t program_counter(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return interrupted.uc_mcontext.pc;
#else
#    error "the registers of an interrupted thread are not known for this processor"
#endif
}

inline std::uintptr_t stack_pointer(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(interrupted.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return interrupted.uc_mcontext.sp;
#endif
}

/// Whether the thread is at a system call: it makes it next, or again if the signal has interrupted it there. The code at
/// the place must be readable for as long as an instruction is.
inline bool is_at_system_call(const ucontext_t& interrupted, std::ptrdiff_t from = 0) noexcept {
#if defined(__x86_64__)
    constexpr std::uint16_t system_call = 0x050f;
    std::uint16_t found = 0;
#elif defined(__aarch64__)
    constexpr std::uint32_t system_call = 0xd4000001;
    std::uint32_t found = 0;
#endif
    const auto size = static_cast<std::ptrdiff_t>(sizeof found);
    std::memcpy(&found, reinterpret_cast<const std::byte*>(program_counter(interrupted)) + from * size,
                sizeof found);
    return found == system_call;
}

/// Whether the instruction before is a system call.
inline bool is_behind_system_call(const ucontext_t& interrupted) noexcept {
    return is_at_system_call(interrupted, -1);
}

/// Of the system call that the thread is at.
inline long system_call_number(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    return static_cast<long>(interrupted.uc_mcontext.gregs[REG_RAX]);
#elif defined(__aarch64__)
    return static_cast<long>(interrupted.uc_mcontext.regs[8]);
#endif
}
inline long second_argument(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    return static_cast<long>(interrupted.uc_mcontext.gregs[REG_RSI]);
#elif defined(__aarch64__)
    return static_cast<long>(interrupted.uc_mcontext.regs[1]);
#endif
}

/// Of the system call that the thread is behind; -errno if it has failed.
inline long system_call_result(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    return static_cast<long>(interrupted.uc_mcontext.gregs[REG_RAX]);
#elif defined(__aarch64__)
    return static_cast<long>(interrupted.uc_mcontext.regs[0]);
#endif
}

} // namespace weft::engine
