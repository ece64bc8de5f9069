#pragma once

namespace weft {

namespace impl {
/// Counts open guards of the calling task; no effect in a thread that is no worker.
void guard_preemption() noexcept;
void unguard_preemption() noexcept;
} // namespace impl

/// While it exists, the calling task is not preempted: around code that depends on its kernel thread, or that holds a lock which
/// a task of another type takes, too. It moves with the task if the task waits. It does not hold for other tasks, so not for
/// children. Guards nest; in a task that is never preempted, and in other threads, they do nothing. docs/preemption.md
class preemption_guard {
public:
    preemption_guard() noexcept { impl::guard_preemption(); }
    ~preemption_guard() { impl::unguard_preemption(); }
    preemption_guard(const preemption_guard&) = delete;
    preemption_guard& operator=(const preemption_guard&) = delete;
};

} // namespace weft
