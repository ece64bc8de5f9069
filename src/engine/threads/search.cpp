#include "engine/idle/worker_search.hpp"
#include "engine/team/teams.hpp"
#include "engine/threads/thread_engine.hpp"

#include <algorithm>
#include <chrono>

/// What the search of idle/search.hpp is for threads: clocks, signals, futexes.
namespace weft::engine {

namespace {

using clock = std::chrono::steady_clock;
constexpr int looks_a_clock = 16;                ///< looks between two readings of the clock
constexpr std::chrono::milliseconds busy_for{1}; ///< then a worker is idle even if it never sleeps
constexpr std::size_t stacks_a_look = 8;         ///< unmapped between two looks: less than 0.1 ms

/// Without patience one look at the own places and at another's, then the last one, which goes everywhere.
int looks_before_clock(std::chrono::nanoseconds patience) noexcept {
    return patience.count() > 0 ? looks_a_clock : 1;
}

} // namespace

/// Looks are counted, and the clock is read after some of them.
struct thread_engine::pace {
    thread_engine& of;
    thread_worker& w;
    clock::time_point since = clock::now();
    int looks_left = looks_before_clock(of.options.patience);

    void begins_look() noexcept {}
    bool is_over() {
        of.rest();
        if (--looks_left > 0) return false;
        looks_left = looks_before_clock(of.options.patience);
        const auto at = clock::now();
        const auto looked_for = at - since;
        if (looked_for >= std::min<std::chrono::nanoseconds>(of.options.patience, busy_for) &&
            of.fibers.trim(stacks_a_look, at))
            return false;
        return looked_for >= of.options.patience && !is_called(w);
    }
    void restart() noexcept {
        since = clock::now();
        looks_left = looks_before_clock(of.options.patience);
    }
};

void thread_engine::schedule() { worker_search(*this).schedule(); }

thread_engine::pace thread_engine::pace_of(thread_worker& w) noexcept { return {*this, w}; }

void thread_engine::stops_working(thread_worker& w) noexcept {
    w.working.store(false, std::memory_order_seq_cst);
    w.refusals.fetch_add(1, std::memory_order_release); // pairs with the load in ask(): nothing from here
}

void thread_engine::starts_working(thread_worker& w) noexcept {
    // seq_cst, then the way out of the runtime reads askers: pairs with a worker that parks, which inserts itself there
    // and then reads `working`.
    w.working.store(true, std::memory_order_seq_cst);
    queue::std_sync::fence(std::memory_order_seq_cst);
}

/// Places up to the last rank are the workers' own; a root, say, is not stolen.
void thread_engine::found_last(thread_worker& w, const decision& p) noexcept {
    if (!p.t || p.from == w.local || p.from >= w.arena().size()) return;
    w.count.steals.add();
    note_steal(w, *w.arena().members[rank(p.from)], p.t);
}

void thread_engine::ends(thread_worker& w, fiber& self) noexcept {
    switch_to(w, w.native, {free_previous_fiber, &self, nullptr}); // the thread ends on its own stack
}

bool thread_engine::may_ask(const thread_worker& victim) const noexcept {
    return options.patience.count() > 0 && victim.working.load(std::memory_order_relaxed);
}

bool thread_engine::stands(thread_worker&, thread_worker& victim) noexcept {
    if (!victim.working.load(std::memory_order_seq_cst))
        return true; // it will see the ask when it starts to work
    victim.hot->limit.store(0, std::memory_order_relaxed);
    signal(victim);
    return true;
}

bool thread_engine::is_interrupted(const thread_worker& w) const noexcept {
    // What has come is for workers that are active.
    return is_called(w) || w.local >= w.arena().active_count.load(std::memory_order_relaxed);
}

bool thread_engine::has_arrivals(const thread_worker& w) const noexcept {
    return stopping.load(std::memory_order_seq_cst) || !w.arena().inbox.empty(); // pairs with stop()
}

bool thread_engine::sleeps_itself(thread_worker& w) noexcept {
    if (!fibers.has_spare()) return false;
    w.parker.sleep_for(fiber_pool::linger); // then it looks whether they are still not needed
    return true;
}

void thread_engine::rest() const noexcept {
    if (crowded)
        queue::std_sync::yield();
    else
        queue::std_sync::pause();
}

impl::frame* thread_engine::ask(thread_worker& w, thread_worker& victim) {
    const auto refused = victim.refusals.load(std::memory_order_acquire); // pairs with the adds of the victim
    begin_ask(w, victim);
    const auto began = clock::now();
    bool signalled = false;
    for (int spins = 0;; ++spins) {
        if (w.slot.has_answer())
            if (impl::frame* f = w.slot.take()) return f;
        if (w.slot.is_idle()) break; // answered, and taken back by its owner
        if (victim.refusals.load(std::memory_order_acquire) != refused || !w.arena().inbox.empty() ||
            is_called(w) || stopping.load(std::memory_order_relaxed) ||
            w.pending_wakes.load(std::memory_order_relaxed) != w.pending_wakes_seen) // a hint: it looks then
            break;
        rest();
        if (spins % looks_a_clock == looks_a_clock - 1) {
            const auto waited = clock::now() - began;
            if (!signalled && waited >= options.exposure_bound) {
                signal(victim);
                signalled = true;
            } else if (waited >= options.exposure_bound + options.answer_bound) {
                break; // its thread does not run: the other victims are not to wait for that
            } else if (!signalled) {
                victim.hot->limit.store(
                    0, std::memory_order_relaxed); // the owner may have overwritten the request
            }
        }
    }
    return w.slot.withdraw();
}

void thread_engine::announce(worker& w, const placement& p) {
    sleep_protocol_of(w.arena())->announce(p.who, p.near < 0 ? w.local : p.near);
}

void thread_engine::await_team(worker& of) {
    auto& w = static_cast<thread_worker&>(of);
    const auto called = [&] {
        // acquire in follow_call(); seq_cst: the bed is armed before
        return w.called_into.load(std::memory_order_seq_cst) || stopping.load(std::memory_order_seq_cst);
    };
    for (const auto since = clock::now(); clock::now() - since < options.patience;)
        for (int look = 0; look < looks_a_clock; ++look) {
            if (called()) return;
            rest();
        }
    w.count.asleep.begin(now());
    while (!called()) { // others may wake it for what it has left
        w.parker.arm();
        queue::std_sync::fence(std::memory_order_seq_cst); // pairs with form(), stop() and carry()
        if (has_messages(w)) read_messages(w);
        if (!called()) w.parker.sleep();
        w.parker.disarm();
    }
    w.count.asleep.end(now());
}

void thread_engine::submit(task& t, ready_reason reason) {
    t.arrives_as_ = static_cast<std::uint8_t>(reason);
    arena& to = *t.arena_;
    // From the push on, what waits for `t` may end, and this engine with it: the destructor waits for the
    // count.
    submitting.fetch_add(1, std::memory_order_relaxed); // before the push, which publishes it
    to.inbox.push(&t);
    announce_in(to, to.all());
    submitting.fetch_sub(1, std::memory_order_release); // pairs with the destructor
}

} // namespace weft::engine
