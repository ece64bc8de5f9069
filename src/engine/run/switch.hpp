#pragma once

#include "engine/worker/engine.hpp"
#include "engine/worker/worker.hpp"

#ifdef WEFT_TSAN
#    include <csignal>
#endif

/// The switch between fibers, inlined where it is hot.
///
/// jump_fcontext of Boost.Context goes to the other stack by an indirect jump. So the address of each call of
/// it stays on the processor's return stack, and each return on the way out of both fibers is mispredicted
/// (measured: 67 against 20 ns for a task_group::run). Therefore this code enters it by a jump, with the
/// return address pushed by hand. Then the return stack fits again on both sides, provided that a fiber
/// leaves and arrives at the same depth of calls. Hence the inlining.
namespace weft::engine {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

[[gnu::always_inline]] inline transfer_t jump(fcontext_t to, void* data) noexcept {
#if defined(__x86_64__) && !defined(__CET__)
    transfer_t back;
    // jump_fcontext keeps rbx, rbp and r12 to r15 (System V ABI); below rsp there may be a red zone.
    register void* kept asm("rbx");
    register fcontext_t a0 asm("rdi") = to;
    register void* a1 asm("rsi") = data;
    register fcontext_t r0 asm("rax");
    register void* r1 asm("rdx");
    asm volatile("movq %%rsp, %%rbx\n\t"
                 "leaq -128(%%rsp), %%rsp\n\t"
                 "andq $-16, %%rsp\n\t"
                 "leaq 1f(%%rip), %%rax\n\t"
                 "pushq %%rax\n\t"
                 "jmp jump_fcontext@PLT\n"
                 "1:\tmovq %%rbx, %%rsp"
                 : "=r"(r0), "=r"(r1), "=r"(kept), "+r"(a0), "+r"(a1)
                 :
                 : "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
#    ifdef __AVX512F__
                   "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
                   "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
                   "k7",
#    endif
                   "cc", "memory");
    back.fctx = r0;
    back.data = r1;
    return back;
#else
    return boost::context::detail::jump_fcontext(to, data);
#endif
}

#ifdef WEFT_TSAN
/// ThreadSanitizer keeps a signal that it has not delivered yet with the fiber, where a switch would strand
/// it.
inline void hold_signals(int how) noexcept {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGURG);
    pthread_sigmask(how, &mask, nullptr);
}

/// ThreadSanitizer maps the memory for a fiber's signals at the first call that needs it, and loses a signal
/// that comes in the middle of that (GCC 12). This function is such a call, made while signals are held.
inline void map_room_for_signals() noexcept { pthread_kill(pthread_self(), 0); }
#endif

/// Switches from the code on `from` to the code on `to`; returns when a switch comes back to `from`. The code
/// that is arrived at saves the context of the fiber that was left.
[[gnu::always_inline]] inline transfer_t change_stacks(fiber& from, fiber& to) noexcept {
#ifdef WEFT_ASAN
    const void* bottom = to.memory.base ? to.memory.limit() : to.asan_bottom;
    const std::size_t size =
        to.memory.base ? static_cast<std::size_t>(reinterpret_cast<std::byte*>(&to) - to.memory.limit())
                       : to.asan_size;
    __sanitizer_start_switch_fiber(&from.asan_fake_stack, bottom, size);
#endif
#ifdef WEFT_TSAN
    hold_signals(SIG_BLOCK);
    __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
    return jump(to.context, &from);
}

/// The first step on the stack that was switched to: saves the context of the fiber that was left.
[[gnu::always_inline]] inline void save_context([[maybe_unused]] fiber& self, transfer_t from) noexcept {
    auto* before = static_cast<fiber*>(from.data);
    before->context = from.fctx;
#ifdef WEFT_TSAN
    hold_signals(SIG_UNBLOCK);
#endif
#ifdef WEFT_ASAN
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(self.asan_fake_stack, &bottom, &size);
    if (!before->memory.base &&
        !before->asan_bottom) { // a thread's own stack, which is known only once it was left
        before->asan_bottom = bottom;
        before->asan_size = size;
    }
#endif
}

/// The code of `self` continues: saves the context of the fiber that was left, restores the thread-local
/// words of `self` and runs the switch_action.
[[gnu::always_inline]] inline void arrived(fiber& self, transfer_t from) noexcept {
    save_context(self, from);
    worker& w = *impl::hot_self();
    *w.exceptions = self.exceptions;
    impl::set_hot_head(self.head);
    if (const auto action = w.after_switch; action.run) {
        w.after_switch.run = nullptr;
        action.run(w, action.a, action.b);
    }
}

/// Leaves the current fiber for `to`; `after` runs on `to` once the current one is saved.
[[gnu::always_inline]] inline void switch_to(worker& w, fiber& to, switch_action after) noexcept {
    fiber& from = *w.current;
    from.head = w.hot->head;
    from.exceptions = *w.exceptions;
    w.after_switch = after;
    w.current = &to;
    arrived(from, change_stacks(from, to));
}

/// A free fiber. Throws weft::error if there is no stack.
[[gnu::always_inline]] inline fiber& take_fiber(worker& w) {
    if (fiber* f = w.free_fibers) [[likely]] {
        w.free_fibers = f->free_next;
        --w.free_fiber_count;
        return *f;
    }
    return *w.engine.fibers.take();
}

inline void free_fiber(worker& w, fiber& f) noexcept {
    constexpr int cached = 16; // free fibers that a worker keeps for itself
    if (w.free_fiber_count == cached) return w.engine.fibers.give(&f);
    f.free_next = w.free_fibers;
    w.free_fibers = &f;
    ++w.free_fiber_count;
}

/// A switch_action that frees the fiber that was left.
inline void free_previous_fiber(worker& w, void* f, void*) noexcept {
    free_fiber(w, *static_cast<fiber*>(f));
}

// switch.cpp
/// Saves the current fiber with its innermost task, and runs the scheduler on another fiber. `action` runs
/// there once the fiber is saved, and publishes the task to the threads that may make it ready. Returns, in
/// the runtime, when the task was resumed. Ends the program, naming the knob to turn, if there is no stack
/// for the scheduler: other workers hold addresses in the current stack, so it cannot be unwound.
void suspend(worker&, ready_reason reason, void (*action)(worker&, void*, void*), void* a, void* b) noexcept;
/// Scheduler: resumes a suspended task; the current fiber becomes free.
void resume(worker&, task&) noexcept;
void fiber_entry(boost::context::detail::transfer_t) noexcept;

} // namespace weft::engine
