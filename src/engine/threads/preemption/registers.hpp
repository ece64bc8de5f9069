#pragma once

#include <cstdint>

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

} // namespace weft::engine
