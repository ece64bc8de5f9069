#pragma once

#include "queue/spin_lock.hpp"
#include "queue/sync.hpp"

#include <mutex>

/// Which kernel thread is pinned to which core, while workers change cores and, under preemption, threads change workers.
///
///   word                   | writers                        | under
///   worker::core           | exchange()                     | the gate's lock, and the lock here
///   thread_worker::pinned  | comes()                        | the lock here
///   kernel_thread::core    | both                           | likewise
///
/// K1: while the lock is free, the thread `pinned` of each worker is pinned to the worker's core, if the system let it. For a
///     thread that comes to a worker (preemption) the core is read and set in one critical section, by the thread that wakes it or
///     by itself: had the core been read before an exchange and set after, it would stay on the wrong core.
/// K2: kernel_thread::core is what the thread is pinned to, also if another thread has pinned it: a spare thread that comes to a worker
///     leaves out the system call if that is the worker's core.
///
/// The lock is taken in the runtime, in the tick handler and by the thread of the policy's ticks: its holder is never
/// preempted (Y4). An external thread in a worker's place is not pinned; the worker's own thread, which comes back, is.
///
/// `pin(thread, core)` asks the system; false if it refuses.
namespace weft::engine {

template <class Sync = queue::std_sync>
class pinned_threads {
public:
    /// `self` runs the worker from now on, or is about to be woken for it.
    template <class Worker, class Thread, class Pin>
    void comes(Worker& w, Thread& self, const Pin& pin) noexcept {
        const std::lock_guard held(lock_);
        w.pinned = &self;                                    // with the look at the core: K1
        if (self.core != w.core()) put(self, w.core(), pin); // K2
    }

    /// The system has moved the thread that runs the worker.
    template <class Worker, class Pin>
    void again(Worker& w, const Pin& pin) noexcept {
        const std::lock_guard held(lock_);
        put(*w.pinned, w.core(), pin);
    }

    /// The two workers change cores. False, and nothing has changed, if the system refuses, or if no thread has come to one of them yet.
    template <class Worker, class Pin>
    bool exchange(Worker& x, Worker& y, const Pin& pin) noexcept {
        const std::lock_guard held(lock_);
        if (!x.pinned || !y.pinned) return false; // the policy's ticks begin before the last thread has come
        const auto change = [&] {
            const int core = x.core();
            x.set_core(y.core());
            y.set_core(core);
            const bool first = put(*x.pinned, x.core(), pin), second = put(*y.pinned, y.core(), pin);
            return first && second;
        };
        if (change()) return true;
        change(); // back
        return false;
    }

    // While it is locked, no thread changes its core.
    void lock() noexcept { lock_.lock(); }
    void unlock() noexcept { lock_.unlock(); }

private:
    template <class Thread, class Pin>
    static bool put(Thread& t, int core, const Pin& pin) noexcept {
        t.core = core;
        return pin(t, core);
    }

    queue::spin_lock<Sync> lock_;
};

} // namespace weft::engine
