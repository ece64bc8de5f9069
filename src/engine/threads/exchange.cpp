#include "engine/threads/thread_engine.hpp"

#include <cstddef>
#include <mutex>
#include <utility>

#include <sched.h>

/// Workers that change cores: their kernel threads change the cores that they are pinned to.
///
///   word                   | writers                                  | under
///   worker::core           | exchange_cores()                         | the gate's lock, and `pinning`
///   thread_worker::pinned  | occupies(), by the thread that comes     | `pinning`
///   kernel_thread::core    | pin()                                    | `pinning`
///
/// K1: while `pinning` is free, the thread `pinned` of each worker is pinned to the worker's core, if the system let it. A
///     thread that comes to a worker (preemption) reads the core and pins itself in one critical section: had it read the
///     core before an exchange and pinned itself after, it would stay on the wrong core.
/// K2: kernel_thread::core is what the thread is pinned to, also if another thread has pinned it: a spare thread that comes to a worker
///     leaves out the system call if that is the worker's core.
///
/// The lock is taken in the runtime, in the tick handler and by the thread of the policy's ticks: its holder is never
/// preempted (Y4). An external thread in a worker's place is not pinned; the worker's own thread, which comes back, is.
namespace weft::engine {

void thread_engine::occupies(thread_worker& w, kernel_thread& self) noexcept {
    if (!options.pin) return;
    const std::lock_guard held(pinning);
    w.pinned = &self;                  // with the look at the core: K1
    if (self.core != w.core()) pin(w); // K2
}

bool thread_engine::pin(const thread_worker& w) const noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    const int cpu = pace ? pace->cpu_of(w.core()) : machine.core_at(w.core()).os_index;
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    w.pinned->core = w.core();
    return sched_setaffinity(w.pinned->id, sizeof mask, &mask) == 0;
}

bool thread_engine::exchange_cores(worker& a, worker& b) noexcept {
    if (!options.pin) return false; // cores are numbers only
    auto &x = static_cast<thread_worker&>(a), &y = static_cast<thread_worker&>(b);
    const std::lock_guard held(pinning);
    if (!x.pinned || !y.pinned) return false; // the policy's ticks begin before the last thread has come
    const auto change = [&] {
        const int core = x.core();
        x.set_core(y.core());
        y.set_core(core);
        const bool first = pin(x), second = pin(y);
        return first && second;
    };
    if (change()) return true;
    change(); // back
    return false;
}

} // namespace weft::engine
