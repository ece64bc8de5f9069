#include "engine/threads/preemption/tick_handler.hpp"

#include "engine/process/process.hpp"
#include "engine/process/registers.hpp"
#include "engine/process/signal_claim.hpp"
#include "engine/threads/preemption/preempter.hpp"
#include "engine/threads/thread_engine.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

#include <pthread.h>

extern "C" {
// The linker's, for the section of that name: the code that runs while ticks are not held away yet, or no longer.
extern const char __start_weft_tick[] __attribute__((visibility("hidden")));
extern const char __stop_weft_tick[] __attribute__((visibility("hidden")));
}

namespace weft::engine {

namespace {

// Calls, since the address of errno may not be kept: the task may come back from the handler on another thread.
[[gnu::noinline, gnu::noipa]] int errno_here() noexcept { return errno; }
[[gnu::noinline, gnu::noipa]] void set_errno_here(int e) noexcept { errno = e; }

constinit signal_claim* tick_claim =
    nullptr;                          // made before the handler is installed; guarded by process_lock()
constinit int preempting_engines = 0; // engines that preempt; guarded by process_lock()

/// The signal is not blocked while the handler runs (SA_NODEFER): the thread may go on to another task from here. A tick
/// that comes meanwhile finds the tick held away, or the thread in the runtime.
[[gnu::section("weft_tick")]] void handle_tick(int, siginfo_t* info, void* context) {
    impl::hot_hold();
    const int saved_errno = errno_here();
    if (worker* w = impl::hot_self()) {
        auto& interrupted = *static_cast<ucontext_t*>(context);
        static_cast<thread_engine&>(w->engine).preemption.on_tick(
            static_cast<thread_worker&>(*w), *info, interrupted,
            is_in_tick_handler(interrupted, __builtin_return_address(0)));
    } else if (info->si_code != SI_TIMER && info->si_pid != getpid()) {
        tick_claim->forward(info, context);
    }
    set_errno_here(saved_errno);
    impl::hot_unhold();
}

void forget_tick_after_fork() {
    preempting_engines = 0;
    if (tick_claim) tick_claim->give_back();
}

/// Registered when the library is loaded; dlclose() undoes it.
[[maybe_unused]] const int forgets_after_fork = pthread_atfork(nullptr, nullptr, forget_tick_after_fork);

} // namespace

void take_tick_handler() noexcept {
    const std::lock_guard guard(process_lock());
    static signal_claim of_tick(tick_signal());
    tick_claim = &of_tick;
    // Not on the alternate stack: what runs there could not be preempted.
    if (preempting_engines++ == 0)
        tick_claim->take(handle_tick, SA_RESTART | SA_NODEFER, handler_stack::of_the_code);
}

void give_back_tick_handler() noexcept {
    const std::lock_guard guard(process_lock());
    if (--preempting_engines == 0) tick_claim->give_back();
}

bool is_in_tick_handler(const ucontext_t& interrupted, const void* returns_to) noexcept {
    constexpr std::uintptr_t length =
        16; // of the code that gives the kernel the frame of the signal: two instructions
    const std::uintptr_t at = program_counter(interrupted);
    return at - reinterpret_cast<std::uintptr_t>(returns_to) < length ||
           (reinterpret_cast<std::uintptr_t>(__start_weft_tick) <= at &&
            at < reinterpret_cast<std::uintptr_t>(__stop_weft_tick));
}

void allow_tick() noexcept {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, tick_signal());
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

} // namespace weft::engine
