#pragma once

#include "engine/ports/host.hpp"
#include "engine/ports/meter.hpp"
#include "engine/worker/worker.hpp"

/// In and out of the runtime: what stands between user code and everything in this folder's neighbours.
namespace weft::engine {

/// Keeps the exposure handler away from the chain of hidden entries while the runtime works on it.
[[gnu::always_inline]] inline worker& enter_runtime() noexcept {
    worker& w = *impl::hot_self();
    w.hot->in_runtime.store(true, std::memory_order_relaxed);
    impl::handler_fence();
    if (w.observed) [[unlikely]]
        w.meter.user_code_ends(w);
    return w;
}

/// The way out answers the asks that came meanwhile. Control may be on another thread by now.
[[gnu::always_inline]] inline void leave_runtime() noexcept {
    worker& w = *impl::hot_self();
    if (w.observed) [[unlikely]]
        w.meter.user_code_begins(w);
    for (;;) {
        bool asked = !w.askers.empty();
        const bool signalled = w.signalled.load(std::memory_order_relaxed);
        if (asked || signalled) [[unlikely]] {
            w.signalled.store(false, std::memory_order_relaxed);
            w.host.answer(w, signalled);
            asked = !w.askers.empty();
        }
        // From the next store on, the handler may expose entries and lower the limit by itself.
        const fiber* f = w.current;
        const bool ordinary = !asked && !w.slow && f->running && f->running->silent_;
        w.hot->limit.store(ordinary ? reinterpret_cast<std::uintptr_t>(f->split) : 0,
                           std::memory_order_relaxed);
        impl::handler_fence();
        w.hot->in_runtime.store(false, std::memory_order_relaxed);
        impl::handler_fence();
        // A handler that came before that store has only left its mark.
        if (!w.signalled.load(std::memory_order_relaxed)) [[likely]]
            return;
        w.hot->in_runtime.store(true, std::memory_order_relaxed);
        impl::handler_fence();
    }
}

} // namespace weft::engine
