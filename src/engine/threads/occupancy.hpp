#pragma once

#include <atomic>

namespace weft::engine {

/// Which thread runs a worker, as others see it: they write to the words of that thread, and send it signals. The thread is the
/// worker's *occupant*. Threads take turns, and one that has left may end: README.md, "External threads" (P1, P2), and
/// preemption/README.md, "A worker changes its kernel thread" (Y8). A template, so that the model check runs the same steps.
///
///   word of the worker | written by                      | read by
///   occupant           | the thread that comes, or that  | threads that reach for the worker, and the
///                      | leaves, for the next one        | thread that is to end
///   reaching           | threads that reach for it       | the thread that is to end
///   signal_out         | senders set it; the handler     | senders
///   tick_out           | and change() clear it           |
///   hides_nothing      | the occupant and its handler;   | senders
///                      | change() clears it              |
template <class Sync, class Worker, class Thread>
struct occupancy {
    /// Other threads find `to` from now on. By the thread that comes to the worker, or that leaves it.
    static void change(Worker& w, Thread& to) noexcept {
        // seq_cst: a thread that adds itself to `reaching` later reads this one (P1)
        w.occupant.store(&to, std::memory_order_seq_cst);
        // A signal that is on its way to the occupant before does nothing any more. The next one must be sent (P2).
        w.signal_out.exchange(false, std::memory_order_seq_cst);
        // Likewise a tick (Y8), and what the thread before has hidden tells nothing of the next one (X4).
        w.tick_out.exchange(false, std::memory_order_seq_cst);
        w.hides_nothing.exchange(false, std::memory_order_seq_cst);
    }

    /// The occupant of `w`, which does not end before leave().
    static Thread* enter(Worker& w) noexcept {
        w.reaching.fetch_add(1, std::memory_order_seq_cst); // pairs with wait_until_unreached() (P1)
        return w.occupant.load(std::memory_order_seq_cst);  // pairs with change() (P1)
    }
    static void leave(Worker& w) noexcept {
        w.reaching.fetch_sub(1, std::memory_order_release); // pairs with wait_until_unreached() (P1)
    }

    /// `self` is to end: until no other thread finds it, or uses what it has found. `all`: pointers to the workers that it may have
    /// had. It has given the last one away, whose next thread may not have come yet.
    template <class Workers>
    static void wait_to_end(const Workers& all, Thread& self) noexcept {
        for (const auto& w : all) // seq_cst: pairs with change(), before the looks at `reaching` (P1)
            while (w->occupant.load(std::memory_order_seq_cst) == &self) Sync::yield();
        wait_until_unreached(all);
    }
    /// The same for a thread that is no occupant.
    template <class Workers>
    static void wait_until_unreached(const Workers& all) noexcept {
        for (const auto& w : all) // pairs with enter() and leave() (P1)
            while (w->reaching.load(std::memory_order_seq_cst) > 0) Sync::yield();
    }
};

} // namespace weft::engine
