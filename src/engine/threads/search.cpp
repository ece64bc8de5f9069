#include "engine/idle/worker_search.hpp"
#include "engine/team/teams.hpp"
#include "engine/threads/thread_engine.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

/// What the steps of idle/worker_search.hpp are on threads: clocks, signals, futexes.
namespace weft::engine {

namespace {

using clock = std::chrono::steady_clock;
constexpr int looks_per_clock_reading = 16; ///< looks between two readings of the clock
constexpr std::chrono::milliseconds spin_before_trim{
    1};                                    ///< after this a worker counts as idle even if it never sleeps
constexpr std::size_t stacks_per_look = 8; ///< stacks unmapped between two looks: less than 0.1 ms

/// With a spin time of 0 there is one look at the worker's own places and at a victim's, then the last look,
/// which goes everywhere.
int looks_before_clock(std::chrono::nanoseconds spin_time) noexcept {
    return spin_time.count() > 0 ? looks_per_clock_reading : 1;
}

} // namespace

/// Counts looks, and reads the clock after some of them.
struct thread_engine::spin_budget {
    thread_engine& of;
    thread_worker& w;
    clock::time_point since = clock::now();
    int looks_left = looks_before_clock(of.options.spin_time);

    void begin_look() noexcept {}
    bool is_spent() {
        if (of.looking_for_place.load(std::memory_order_relaxed) > 0 && !w.until) return true;
        of.pause_or_yield();
        if (--looks_left > 0) return false;
        looks_left = looks_before_clock(of.options.spin_time);
        const auto at = clock::now();
        const auto looked_for = at - since;
        if (looked_for >= std::min<std::chrono::nanoseconds>(of.options.spin_time, spin_before_trim) &&
            of.fibers.trim(stacks_per_look, at))
            return false;
        return looked_for >= of.options.spin_time && !is_called(w);
    }
    void restart() noexcept {
        since = clock::now();
        looks_left = looks_before_clock(of.options.spin_time);
    }
};

void thread_engine::schedule() { worker_search(*this).schedule(); }

thread_engine::spin_budget thread_engine::spin_budget_of(thread_worker& w) noexcept { return {*this, w}; }

void thread_engine::stops_working(thread_worker& w) noexcept {
    w.working.store(false, std::memory_order_seq_cst);  // X3
    w.refusals.fetch_add(1, std::memory_order_release); // pairs with the load in ask(): w has nothing to give
    if (pace) [[unlikely]]
        pace->work_ends(w);
}

void thread_engine::starts_working(thread_worker& w) noexcept {
    // seq_cst, then the way out of the runtime reads the askers: pairs with a worker that parks, which
    // inserts itself there and then reads `working` (X3).
    w.working.store(true, std::memory_order_seq_cst);
    queue::std_sync::fence(std::memory_order_seq_cst);
    if (away_from_home) leaves_home(w);
    if (ticks_of_policy) [[unlikely]]
        ticks_of_policy->work_begins(); // after the fence: pairs with that of work_clock::rest() (S7)
    if (pace) [[unlikely]]
        pace->work_begins(w); // likewise
    if (lends) [[unlikely]]
        lends->work_begins(); // likewise
}

/// The places below the number of workers are the workers' own. A task from another place, such as a root, is
/// not stolen.
void thread_engine::found_in_last_look(thread_worker& w, const decision& p) noexcept {
    if (!p.t || p.from == w.local || p.from >= w.arena().size()) return;
    w.count.steals.add();
    note_steal(w, *w.arena().members[rank(p.from)], p.t);
}

void thread_engine::end_worker(thread_worker& w) noexcept {
    preemption.pauses(w);
    leave_for_good(w, *w.native); // the thread ends on its own stack
}

bool thread_engine::may_ask(const thread_worker& victim) const noexcept {
    return options.spin_time.count() > 0 && victim.working.load(std::memory_order_relaxed);
}

bool thread_engine::place_standing_ask(thread_worker&, thread_worker& victim) noexcept {
    if (!victim.working.load(std::memory_order_seq_cst))
        return true; // it will see the ask when it starts to work (X3)
    mark(victim);
    signal(victim); // or its next fork or return finds the ask
    return true;
}

bool thread_engine::is_interrupted(const thread_worker& w) const noexcept {
    // An inactive worker must leave the task to active ones.
    return is_called(w) || w.local >= w.arena().active_count.load(std::memory_order_relaxed);
}

bool thread_engine::must_look_again(const thread_worker& w) const noexcept {
    // Each is written before the parker is looked at: pairs with stop(), and with the waker of the occupant.
    return stopping.load(std::memory_order_seq_cst) || is_stopping(w) || !w.arena().inbox.empty();
}

bool thread_engine::has_idle_stacks(const thread_worker& w) const noexcept {
    return fibers.has_spare() || w.tasks_at_release != w.count.tasks.get();
}

task* thread_engine::sleep(thread_worker& w) noexcept {
    preemption.pauses(w);
    goes_home(w);
    const own_sleep here(w.usage);
    const lent_while_asleep lent(lends.get(), w);
    if (w.until || w.arena().is_team()) {
        w.parker.sleep();
        return nullptr;
    }
    w.sleeps_for_ever = !has_idle_stacks(w);
    if (!w.parker.sleep_vacant(w.sleeps_for_ever ? std::chrono::nanoseconds::max() : fiber_pool::linger) &&
        w.tasks_at_release != w.count.tasks.get()) {
        w.tasks_at_release = w.count.tasks.get();
        fibers.release_pages(*w.current);
        for (fiber* f = w.free_fibers; f; f = f->free_next) fibers.release_pages(*f);
        fibers.release_pages();
    }
    return std::exchange(w.left, nullptr);
}

void thread_engine::pause_or_yield() const noexcept {
    if (oversubscribed)
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
        if (w.slot.is_idle()) break; // answered, and reclaimed by the owner
        if (victim.refusals.load(std::memory_order_acquire) != refused || !w.arena().inbox.empty() ||
            is_called(w) || stopping.load(std::memory_order_relaxed) ||
            is_notified(w)) // a hint: w looks again
            break;
        pause_or_yield();
        if (spins % looks_per_clock_reading == looks_per_clock_reading - 1) {
            const auto waited = clock::now() - began;
            if (!signalled && waited >= options.exposure_bound) {
                if (!signal(victim)) break; // its next fork or return may be far away
                signalled = true;
            } else if (waited >= options.exposure_bound + options.answer_bound) {
                break; // the victim's thread does not run: the other victims must not wait for that
            } else if (!signalled) {
                mark(victim); // the victim may have overwritten the request
            }
        }
    }
    return w.slot.withdraw();
}

void thread_engine::announce(worker& w, const placement& p) {
    announce_in(w.arena(), p.who, p.near < 0 ? w.local : p.near);
}

void thread_engine::announce_in(arena& a, workers range, worker_id near) noexcept {
    if (const auto left_to = sleep_protocol_of(a)->announce(range, near))
        static_cast<thread_worker&>(*a.members[*left_to]).notified.store(true, std::memory_order_relaxed);
}

void thread_engine::await_team(worker& of) {
    auto& w = static_cast<thread_worker&>(of);
    const auto called = [&] {
        // seq_cst: after the arming of the parker; follow_call() acquires
        return w.called_into.load(std::memory_order_seq_cst) || stopping.load(std::memory_order_seq_cst);
    };
    for (const auto since = clock::now(); clock::now() - since < options.spin_time;)
        for (int look = 0; look < looks_per_clock_reading; ++look) {
            if (called()) return;
            pause_or_yield();
        }
    preemption.pauses(w);
    goes_home(w);
    w.count.asleep.begin(now());
    const own_sleep here(w.usage);
    const lent_while_asleep lent(lends.get(), w);
    while (!called()) { // a late wake-up may concern the arena that it has left
        w.parker.arm();
        queue::std_sync::fence(std::memory_order_seq_cst); // pairs with form(), stop() and deliver()
        if (has_messages(w)) read_messages(w);
        if (!called()) w.parker.sleep();
        w.parker.disarm();
    }
    w.count.asleep.end(now());
    leaves_home(w);
}

void thread_engine::submit(task& t, ready_reason reason) {
    t.arrives_as_ = static_cast<std::uint8_t>(reason);
    arena& to = *t.arena_;
    // From the push on, the code that waits for `t` may resume, and may destroy this engine: the destructor
    // waits until the count is 0.
    submitting.fetch_add(1, std::memory_order_relaxed); // relaxed: the push publishes it
    to.inbox.push(&t);
    announce_in(to, to.all());
    submitting.fetch_sub(1, std::memory_order_release); // pairs with the load in the destructor
}

} // namespace weft::engine
