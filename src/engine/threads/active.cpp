#include "engine/threads/thread_engine.hpp"

#include "machine/workers.hpp"

#include <algorithm>

#include <pthread.h>
#include <sched.h>

/// Workers that take part and workers that stand by: README.md, "Who stands by".
namespace weft::engine {

void thread_engine::set_active(int count) {
    const std::lock_guard guard(resizing);
    count = std::clamp(count, 1, worker_count());
    const int before = active_count.load(std::memory_order_relaxed); // written under the lock
    if (!need.resizable || count == before) return;
    active_count.store(count, std::memory_order_seq_cst); // pairs with the load in stand_by()
    // Between that store and the looks at the beds: pairs with arm() and the load in stand_by(), and, for
    // those who announce, with the load in able().
    queue::std_sync::fence(std::memory_order_seq_cst);
    scheduler->resized({0, count});
    // Who is to stand by may be asleep in `parked`, where wake-ups would be spent on it.
    for (int w = std::min(before, count); w < std::max(before, count); ++w)
        crew[static_cast<std::size_t>(w)]->bed.wake();
}

void thread_engine::stand_by(thread_worker& w) {
    // It is out of `searching` and of `parked`. What was announced to it until then is owed, and handed on.
    // If it was woken without that (policy_context::wake), somebody else looks instead.
    if (w.owed.load(std::memory_order_seq_cst) != 0) // after the erasures, as in pass_watch_on()
        pass_watch_on(w);
    else
        wake_one(active(), w.id);
    for (;;) {
        w.bed.arm();
        // After arm(), before the looks: pairs with the fences of set_active() and stop().
        queue::std_sync::fence(std::memory_order_seq_cst);
        if (is_active(w) || stopping.load(std::memory_order_acquire)) break; // pairs with stop()
        w.bed.sleep(); // a wake-up that was meant for its time in `parked` may come late
    }
    w.bed.disarm();
    if (options.pin) pin(w); // a control group that changed has moved it
}

workers thread_engine::able(workers who) const noexcept {
    const int count = active_count.load(std::memory_order_relaxed); // after a fence of the caller
    if (who.last <= count || who.empty()) return who;
    // A place whose own workers all stand by is looked at by the others: needs::resizable.
    return who.first < count ? workers{who.first, count} : workers{0, count};
}

void thread_engine::follow(std::optional<double> quota) {
    // Of all threads together: each may be pinned to a core of its own. A control group moves them all.
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const auto& w : crew) {
        cpu_set_t own;
        if (pthread_getaffinity_np(w->thread, sizeof own, &own) != 0) return; // larger masks than cpu_set_t
        CPU_OR(&all, &all, &own);
    }
    set_active(workers_within(std::max(CPU_COUNT(&all), 1), quota));
}

} // namespace weft::engine
