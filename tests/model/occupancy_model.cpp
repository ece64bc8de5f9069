// Model check of the threads that take turns at a worker (P1 and P2 of engine/threads/README.md, Y8 of
// engine/threads/preemption/README.md): a thread that ends is not reached any more, no ask is lost with a signal that came too
// late, and ticks do not queue up at a thread. The thread that comes does what preempter::occupy() or occupation in
// threads/external.cpp does, the others what signal() in threads/exposure.cpp and send() in threads/preemption/ticks.cpp do. The
// checker has no signals: a thread looks for them between any two steps of its task.
#include <array>
#include <cstdint>
#include <memory>

#include "relacy_run.hpp"

#include "engine/threads/occupancy.hpp"
#include "engine/threads/preemption/stop_word.hpp"

namespace weft::model {
namespace {

using order = std::memory_order;
using sync = relacy_sync;

constexpr const char* ends_early = "the thread ends while it is the occupant";
constexpr const char* ends_reached = "the thread ends while others reach for it";
constexpr const char* reached_first = "the look at reaching before that at the occupant";
constexpr const char* changes_late = "the signals forgotten before the occupant changes";
constexpr const char* keeps_signal = "signal_out kept";
constexpr const char* keeps_tick = "tick_out kept";
constexpr const char* trusts_still = "hides_nothing kept";
constexpr const char* unlooked = "the askers not looked at by the next occupant";
constexpr const char* unbounded = "a tick sent although one is on its way";

/// The worker goes from thread 0 to thread 1 and so on to the last but one, which keeps it. The others end. The last thread asks it
/// for work twice, which its last occupant has, and sends it ticks until one was of use.
/// `Leaves`: the thread that leaves makes the next one the occupant, as an external thread does; else the next
/// one does so when it comes.
template <class Derived, int Threads, bool Leaves>
struct turns : rl::test_suite<Derived, Threads> {
    static constexpr unsigned last = Threads - 2;
    static constexpr std::uint32_t asks = 2; ///< one after the other
    struct thread_words {
        relacy_sync::var<int> alive{1}; ///< read by the thread that reaches for it
        sync::atomic<std::uint32_t> signals{0}, ticks{0};
        engine::stop_word<sync> stopped;
    };
    struct worker_words {
        sync::atomic<thread_words*> occupant{nullptr};
        sync::atomic<int> reaching{0};
        sync::atomic<bool> signal_out{false}, hides_nothing{false}, tick_out{false};
        sync::atomic<std::uint32_t> asked{0}, answered{0}, ticked{0};
    };
    struct state {
        worker_words worker;
        thread_words of[Threads - 1];
    };
    using occupancy = engine::occupancy<sync, worker_words, thread_words>;
    std::unique_ptr<state> all;

    void before() {
        all = std::make_unique<state>();
        all->worker.occupant.store(&all->of[0], order::relaxed);
        all->worker.hides_nothing.store(true, order::relaxed); // an ask that was withdrawn has found nothing
    }
    void after() { all.reset(); }

    // ---- threads that take turns
    void change(thread_words& to) {
        worker_words& w = all->worker;
        const bool plain = made(changes_late) || made(keeps_signal) || made(keeps_tick) || made(trusts_still);
        if (!plain) return occupancy::change(w, to);
        if (!made(changes_late)) w.occupant.store(&to, order::seq_cst);
        if (!made(keeps_signal)) w.signal_out.exchange(false, order::seq_cst);
        if (!made(trusts_still)) w.hides_nothing.exchange(false, order::seq_cst);
        if (!made(keeps_tick)) w.tick_out.exchange(false, order::seq_cst);
        if (made(changes_late)) w.occupant.store(&to, order::seq_cst);
    }
    bool is_asked() {
        return all->worker.asked.load(order::seq_cst) != all->worker.answered.load(order::seq_cst);
    }
    /// In user code, or on the way there. The first threads have nothing to give.
    void answer(bool has_work) {
        worker_words& w = all->worker;
        if (w.hides_nothing.load(order::relaxed)) w.hides_nothing.exchange(false, order::seq_cst);
        if (!is_asked()) return;
        if (has_work)
            w.answered.store(w.asked.load(order::seq_cst), order::seq_cst);
        else
            w.hides_nothing.store(true, order::seq_cst);
    }
    /// Between two steps of the task.
    void take_signals(thread_words& self, bool has_work) {
        worker_words& w = all->worker;
        if (self.signals.load(order::seq_cst) != 0) {
            self.signals.fetch_sub(1, order::seq_cst);
            w.signal_out.exchange(false, order::seq_cst);
            answer(has_work);
        }
        if (self.ticks.load(order::seq_cst) != 0) {
            self.ticks.fetch_sub(1, order::seq_cst);
            w.tick_out.store(false, order::seq_cst);
            if (has_work) w.ticked.store(1, order::seq_cst);
        }
    }
    void give_away(unsigned me) {
        thread_words& self = all->of[me];
        thread_words& next = all->of[me + 1];
        const std::array all_workers{&all->worker};
        if (Leaves) {
            change(next);
            if (!made(ends_reached)) occupancy::wait_until_unreached(all_workers);
            next.stopped.wake([](auto&) {});
        } else {
            next.stopped.wake([](auto&) {});
            if (made(reached_first)) occupancy::wait_until_unreached(all_workers);
            if (made(ends_early)) occupancy::wait_until_unreached(all_workers);
            if (made(ends_reached) || made(reached_first))
                while (all->worker.occupant.load(order::seq_cst) == &self) sync::yield();
            if (!made(ends_early) && !made(ends_reached) && !made(reached_first))
                occupancy::wait_to_end(all_workers, self);
        }
        self.alive.set(0);
        // One, and one of a sender that had set tick_out when this thread came, and read `occupant` after that.
        RL_ASSERT(self.ticks.load(order::seq_cst) <= (me == 0 ? 1U : 2U));
    }
    void take_turn(unsigned me) {
        thread_words& self = all->of[me];
        if (me > 0) {
            self.stopped.stop([](auto&) { sync::yield(); });
            if (!Leaves) change(self);
            if (!made(unlooked) && is_asked()) answer(me == last); // the way out of the runtime
        }
        take_signals(self, me == last);
        if (me < last) return give_away(me);
        while (all->worker.answered.load(order::seq_cst) < asks ||
               all->worker.ticked.load(order::seq_cst) == 0) {
            take_signals(self, true);
            sync::yield();
        }
    }

    // ---- the thread that reaches for the worker
    void send(sync::atomic<std::uint32_t> thread_words::* what) {
        thread_words* const to = occupancy::enter(all->worker);
        RL_ASSERT(to->alive.get() == 1);
        (to->*what).fetch_add(1, order::seq_cst);
        occupancy::leave(all->worker);
    }
    void ask(std::uint32_t number) {
        worker_words& w = all->worker;
        w.asked.store(number, order::seq_cst);
        if (!w.hides_nothing.load(order::seq_cst) && !w.signal_out.exchange(true, order::seq_cst))
            send(&thread_words::signals);
    }
    void ask_and_tick() {
        worker_words& w = all->worker;
        ask(1);
        while (w.ticked.load(order::seq_cst) == 0) {
            if (!w.tick_out.exchange(true, order::seq_cst) || made(unbounded)) send(&thread_words::ticks);
            sync::yield();
        }
        while (w.answered.load(order::seq_cst) < 1) sync::yield();
        ask(2);
        while (w.answered.load(order::seq_cst) < asks) sync::yield();
    }

    void thread(unsigned me) {
        if (me <= last)
            take_turn(me);
        else
            ask_and_tick();
    }
};

struct one_ends : turns<one_ends, 3, false> {};
struct two_end : turns<two_end, 4, false> {};
struct one_leaves : turns<one_leaves, 3, true> {};
struct two_leave : turns<two_leave, 4, true> {};

constexpr scenario scenarios[] = {
    {"one_ends", 100000, search<one_ends>},
    {"one_leaves", 100000, search<one_leaves>},
    {"two_end", 50000, search<two_end>},
    {"two_leave", 50000, search<two_leave>},
};

constexpr mutant steps(const char* name) {
    return {name, operation::fence, order::relaxed, words::all, "nowhere", mistake::omit};
}

constexpr mutant mutants[] = {
    {"the occupant changed in a relaxed way", operation::store, order::seq_cst, words::pointers, "::change(",
     mistake::relax},
    {"reached in a relaxed way", operation::fetch, order::seq_cst, words::numbers, "::enter(",
     mistake::relax},
    {"the occupant read in a relaxed way", operation::load, order::seq_cst, words::pointers, "::enter(",
     mistake::relax},
    {"left in a relaxed way", operation::fetch, order::release, words::numbers, "::leave(", mistake::relax},
    {"the look at reaching relaxed", operation::load, order::seq_cst, words::numbers,
     "::wait_until_unreached(", mistake::relax},
    {"reached in two steps", operation::fetch, order::seq_cst, words::numbers, "::enter(", mistake::tear},
    steps(ends_early),
    steps(ends_reached),
    steps(reached_first),
    steps(changes_late),
    steps(keeps_signal),
    steps(keeps_tick),
    steps(trusts_still),
    steps(unlooked),
    steps(unbounded),
};

} // namespace
} // namespace weft::model

int main(int argc, char** argv) {
    return weft::model::run_model(argc, argv, weft::model::scenarios, weft::model::mutants);
}
