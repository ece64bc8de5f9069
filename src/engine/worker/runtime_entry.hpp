#pragma once

#include "engine/ports/host.hpp"
#include "engine/ports/meter.hpp"
#include "engine/worker/worker.hpp"

/// The way into the runtime and out of it: the border between user code and the code of the engine.
namespace weft::engine {

/// From here to leave_runtime() the exposure handler leaves the chain of hidden entries alone.
[[gnu::always_inline]] inline void enter_runtime(worker& w) noexcept {
    w.hot->in_runtime.store(true, std::memory_order_relaxed);
    impl::handler_fence();
    if (w.observed) [[unlikely]]
        w.meter.user_code_ends(w);
}

[[gnu::always_inline]] inline worker& enter_runtime() noexcept {
    worker& w = *impl::hot_self();
    enter_runtime(w);
    return w;
}

/// Computes `limit` anew and lets the exposure handler act again. False if the handler came before: it has only left its
/// mark, and the worker is still in the runtime.
[[gnu::always_inline]] inline bool try_to_leave(worker& w, bool asked) noexcept {
    // Once `in_runtime` is cleared below, the handler may expose entries and lower the limit by itself.
    const fiber* f = w.current;
    const bool ordinary = !asked && !w.slow && f->running && f->running->silent_;
    w.hot->limit.store(ordinary ? reinterpret_cast<std::uintptr_t>(f->split) : 0, std::memory_order_relaxed);
    impl::handler_fence();
    w.hot->in_runtime.store(false, std::memory_order_relaxed);
    impl::handler_fence();
    if (!w.signalled.load(std::memory_order_relaxed)) [[likely]]
        return true;
    w.hot->in_runtime.store(true, std::memory_order_relaxed);
    impl::handler_fence();
    return false;
}

/// leave_runtime() of a worker that other workers ask or a meter observes. It is separate to keep the fast path short.
void leave_runtime_slow_path(worker&) noexcept;

/// Answers the asks that came meanwhile and goes back to user code. The caller may be on another thread than it was at
/// enter_runtime().
[[gnu::always_inline]] inline void leave_runtime() noexcept {
    worker& w = *impl::hot_self();
    const bool quiet = !w.observed && w.askers.empty() && !w.signalled.load(std::memory_order_relaxed);
    if (quiet && try_to_leave(w, false)) [[likely]]
        return;
    leave_runtime_slow_path(w);
}

} // namespace weft::engine
