#pragma once

#include "engine/ports/host.hpp"
#include "engine/ports/meter.hpp"
#include "engine/worker/worker.hpp"

#include <utility>

/// The way into the runtime and out of it: the border between user code and the code of the engine.
namespace weft::engine {

/// From here to leave_runtime() the exposure handler leaves the chain of hidden entries alone, and no tick preempts the
/// task. The mark comes before the worker is read: a task that is preempted between the two goes on with the mark of
/// the thread that it comes to, and reads the worker of that thread (Y1).
[[gnu::always_inline]] inline worker& enter_runtime() noexcept {
    impl::hot_enter_runtime();
    worker& w = *impl::hot_self();
    if (w.observed) [[unlikely]]
        w.meter.user_code_ends(w);
    return w;
}

/// Computes `limit` anew and lets the handlers act again. False if the exposure handler came before: it has only left its
/// mark, and the worker is still in the runtime. From the moment that `in_runtime` is cleared the task may be preempted,
/// and `w` may be another task's worker; so what follows goes by the words of the thread (Y1).
[[gnu::always_inline]] inline bool try_to_leave(worker& w, bool asked) noexcept {
    // Once `in_runtime` is cleared below, the handler may expose entries and lower the limit by itself.
    const fiber* f = w.current;
    const bool ordinary = !asked && !w.slow && f->running && f->running->silent_;
    w.hot->limit.store(ordinary ? reinterpret_cast<std::uintptr_t>(f->split) : 0, std::memory_order_relaxed);
    impl::hot_leave_runtime();
    if (!impl::hot_signalled()) [[likely]]
        return true;
    impl::hot_enter_runtime();
    return false;
}

/// leave_runtime() of a worker that other workers ask or a meter observes. It is separate to keep the fast path short.
void leave_runtime_slow_path() noexcept;

/// Answers the asks that came meanwhile and goes back to user code. The caller may be on another thread than it was at
/// enter_runtime().
[[gnu::always_inline]] inline void leave_runtime() noexcept {
    worker& w = *impl::hot_self();
    const bool quiet = !w.observed && w.askers.empty();
    if (quiet && try_to_leave(w, false)) [[likely]]
        return;
    leave_runtime_slow_path();
}

/// Leaves a runtime in which nothing was changed, and whose meter was not told of the entry.
inline void leave_untold() noexcept {
    impl::hot_leave_runtime();
    if (!impl::hot_signalled()) [[likely]]
        return;
    enter_runtime();
    leave_runtime();
}

/// A lock that also keeps the tick away from its holder: one that is taken both in the runtime and in user code, or by
/// tasks that are never preempted. Such a holder, preempted, would stop the worker that is to resume it (Y4).
template <class Lock>
class without_ticks {
public:
    void lock() noexcept(noexcept(std::declval<Lock&>().lock())) {
        impl::hot_hold();
        of_.lock();
    }
    void unlock() noexcept {
        of_.unlock();
        impl::hot_unhold();
    }

private:
    Lock of_{};
};

/// The running task of the caller, which is on a worker. In user code: a preempted caller may change workers between
/// two steps of `hot_self()->current->running`.
inline task& running_task() noexcept {
    const impl::tick_hold here;
    return *impl::hot_self()->current->running;
}

/// Likewise, its arena.
inline arena& arena_of_caller() noexcept {
    const impl::tick_hold here;
    return impl::hot_self()->arena();
}
/// Likewise, the stack that the caller runs on.
inline const stack& current_stack() noexcept {
    const impl::tick_hold here;
    return impl::hot_self()->current->memory;
}

} // namespace weft::engine
