#pragma once

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

/// Whether the instruction before is a system call: the thread waited in the kernel, or has just come back.
inline bool is_in_system_call(const ucontext_t& interrupted) noexcept {
#if defined(__x86_64__)
    constexpr std::uint16_t system_call = 0x050f;
    std::uint16_t before = 0;
#elif defined(__aarch64__)
    constexpr std::uint32_t system_call = 0xd4000001;
    std::uint32_t before = 0;
#endif
    std::memcpy(&before, reinterpret_cast<const void*>(program_counter(interrupted) - sizeof before),
                sizeof before);
    return before == system_call;
}

} // namespace weft::engine
