#pragma once

#include <cstddef>

/// From the code on one stack to the code on another.
///
/// On x86-64 the switch is inlined into its caller, and declares that it changes every register, so the compiler saves
/// those that are in use and no others. It is entered and left by jumps, so the processor's stack of predicted returns
/// keeps fitting, provided that the code on a stack leaves and arrives at the same depth of calls. It leaves the
/// floating-point modes alone: floating_point_modes.hpp. Elsewhere, Boost.Context switches.
#if defined(__x86_64__) && !defined(__CET__)
#    define WEFT_OWN_SWITCH 1
#    include <cstdint>
#else
#    include <boost/context/detail/fcontext.hpp>
#endif

namespace weft {

/// Where the code on a stack continues: its saved stack pointer.
using saved_context = void*;

#ifdef WEFT_OWN_SWITCH

/// What the code that is arrived at learns.
struct arrival {
    saved_context left; ///< of the code that switched
    void* data;         ///< what it passed
};

[[gnu::always_inline]] inline arrival switch_context(saved_context to, void* data) noexcept {
    register void* stack asm("rdi") = to;
    register void* passed asm("rsi") = data;
    // Below rsp there may be a red zone. rbp is saved by hand, because it cannot be declared as changed. The address to
    // continue at is on top of each saved stack.
    asm volatile("leaq -128(%%rsp), %%rsp\n\t"
                 "pushq %%rbp\n\t"
                 "leaq 1f(%%rip), %%rax\n\t"
                 "pushq %%rax\n\t"
                 "movq %%rsp, %%rax\n\t"
                 "movq %%rdi, %%rsp\n\t"
                 "movq %%rax, %%rdi\n\t"
                 "popq %%rax\n\t"
                 "jmp *%%rax\n"
                 "1:\tpopq %%rbp\n\t"
                 "leaq 128(%%rsp), %%rsp"
                 : "+r"(stack), "+r"(passed)
                 :
                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
                   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                   "xmm12", "xmm13", "xmm14", "xmm15",
#    ifdef __AVX512F__
                   "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
                   "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
                   "k7",
#    endif
                   "cc", "memory");
    return {stack, passed};
}

/// The first switch to the result calls `entry`, which must not return. The stack grows down from `top`.
inline saved_context make_context(void* top, std::size_t, void (*entry)(arrival)) noexcept {
    auto* at = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15});
    *--at = nullptr; // where a return address would be: the end, for code that walks the stack
    *--at = reinterpret_cast<void*>(entry);
    return at;
}

#else

using arrival = boost::context::detail::transfer_t;

inline arrival switch_context(saved_context to, void* data) noexcept {
    return boost::context::detail::jump_fcontext(to, data);
}

inline saved_context make_context(void* top, std::size_t bytes, void (*entry)(arrival)) noexcept {
    return boost::context::detail::make_fcontext(top, bytes, entry);
}

#endif

} // namespace weft
