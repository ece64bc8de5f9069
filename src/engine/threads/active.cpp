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
    if (!need.resizable || count == active_count.load(std::memory_order_relaxed))
        return; // written under the lock
    watching(outermost)->resize(count, [&] { scheduler->resized({0, count}); });
}

void thread_engine::stand_by(thread_worker& w) {
    watching(w.in())->stand_by(w.local, [&] { return is_stopping() || is_called(w); });
    if (options.pin) pin(w); // a control group that changed has moved it
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
