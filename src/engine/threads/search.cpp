#include "engine/threads/thread_engine.hpp"

#include "engine/idle/next_task.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/admission.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/task_record.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace weft::engine {

namespace {

using clock = std::chrono::steady_clock;
constexpr int looks_a_clock = 16;                ///< looks between two readings of the clock
constexpr std::chrono::milliseconds busy_for{1}; ///< then a worker is idle even if it never sleeps
constexpr std::size_t stacks_a_look = 8;         ///< unmapped between two looks: less than 0.1 ms

/// Places up to the last rank are the workers' own; a root, say, is not stolen.
void count_steal(thread_worker& w, const decision& p) noexcept {
    if (p.from == w.local || p.from >= w.arena().size()) return;
    w.count.steals.add();
    note_steal(w, *w.arena().members[rank(p.from)], p.t);
}

/// Without patience one look at the own places and at another's, then the last one, which goes everywhere.
int looks_before_clock(std::chrono::nanoseconds patience) noexcept {
    return patience.count() > 0 ? looks_a_clock : 1;
}

thread_worker& fellow(const thread_worker& w, worker_id of_its_arena) noexcept {
    return static_cast<thread_worker&>(*w.arena().members[rank(of_its_arena)]);
}

thread_worker& here() noexcept { return static_cast<thread_worker&>(*impl::hot_self()); }

} // namespace

void thread_engine::schedule() {
    fiber& self = *here().current;
    if (task* first = std::exchange(self.first, nullptr)) {
        // Spawned child-first by a parent that was working: the worker never stopped.
        start(here(), *first);
    }
    for (;;) {
        thread_worker& w = here();
        task* t = w.resume_first ? std::exchange(w.resume_first, nullptr) : find_work(w);
        if (t && t->claims_ && !admit(w, *t)) [[unlikely]]
            continue;
        if (!t) { // stopping: the thread ends on its own stack
            switch_to(w, w.native, {free_left, &self, nullptr});
        } else if (t->fresh()) {
            start(w, *t);
            continue;
        } else {
            resume(w, *t);
        }
        // This fiber was free and is in use again.
        if (self.has_child) return;
        if (task* first = std::exchange(self.first, nullptr)) start(here(), *first);
    }
}

task* thread_engine::find_work(thread_worker& w) {
    // Fast: what the worker has at hand.
    decision p;
    if (is_active(w) && !is_called(w)) [[likely]] {
        collect(w);
        p = next_task(w, false);
        if (p.t) {
            count_steal(w, p);
            return p.t;
        }
    }

    w.working.store(false, std::memory_order_seq_cst);
    w.refusals.fetch_add(1,
                         std::memory_order_release); // pairs with the load in ask_and_wait: nothing from here
    w.count.idle.begin(now());
    note(w, trace::kind::search);
    w.arena().searching.insert(rank(w.local));
    task* t = nullptr;
    std::uint64_t pending_wakes = 0; // before the last look
    for (auto since = clock::now(); !t && !is_stopping();) {
        if (w.arena().calls_anybody() && follow_call(w)) [[unlikely]] {
            t = std::exchange(w.share, nullptr);
            w.arena().searching.insert(rank(w.local));
            since = clock::now();
            p = {};
            continue;
        }
        if (!is_active(w)) [[unlikely]] {
            if ((t = bound_task(w))) break;
            wait_inactive(w);
            w.arena().searching.insert(rank(w.local));
            since = clock::now();
            p = {};
            continue;
        }
        for (int look = looks_before_clock(options.patience); look > 0 && !t; --look) {
            collect(w);
            if (!p.t && p.ask && options.patience.count() > 0) {
                auto& victim = fellow(w, p.from);
                if (&victim != &w && victim.working.load(std::memory_order_relaxed) &&
                    victim.arena_now.load(std::memory_order_relaxed) ==
                        &w.arena()) // a hint: the slot decides
                    t = ask_and_wait(w, victim, pending_wakes);
                if (t) break;
            }
            if (is_called(w)) break;
            pending_wakes = w.pending_wakes.load(std::memory_order_relaxed);
            p = next_task(w, false);
            if (p.t) {
                t = p.t;
                count_steal(w, p);
                break;
            }
            rest();
        }
        if (t) break;
        const auto at = clock::now();
        const auto looked_for = at - since;
        if (looked_for >= std::min<std::chrono::nanoseconds>(options.patience, busy_for) &&
            fibers.trim(stacks_a_look, at))
            continue;
        if (looked_for >= options.patience && !is_called(w)) {
            w.arena().searching.erase(rank(w.local));
            t = park(w);
            w.arena().searching.insert(rank(w.local));
            since = clock::now();
            p = {};
        }
    }
    w.count.idle.end(now());
    note(w, trace::kind::found);
    if (!t) {
        w.arena().searching.erase(rank(w.local));
        return nullptr;
    }
    sleep_protocol_of(w.arena())->stop_searching(w.local);
    // seq_cst, then the way out of the runtime reads askers: pairs with park(), which inserts and then reads
    // `working`.
    w.working.store(true, std::memory_order_seq_cst);
    queue::std_sync::fence(std::memory_order_seq_cst);
    return t;
}

void thread_engine::rest() const noexcept {
    if (crowded)
        queue::std_sync::yield();
    else
        queue::std_sync::pause();
}

task* thread_engine::receive(thread_worker& w, impl::frame* entry) {
    if (!entry) return nullptr;
    w.count.steals.add();
    const auto at = w.log ? w.log->now() : 0;
    task& t = task_of_frame(w, *entry);
    const std::uint32_t number = t.number_; // before others can have it
    const placement p = w.arena().scheduler->ready(w.local, t, ready_reason::exposed);
    if (w.log) note_placement(*w.log, at, number, p, ready_reason::exposed);
    task* mine = w.arena().scheduler->next(w.local, false).t;
    if (mine != &t) announce(w, p); // the policy keeps it for somebody else, or for later
    return mine;
}

task* thread_engine::ask_and_wait(thread_worker& w, thread_worker& victim, std::uint64_t pending_wakes) {
    const auto refused = victim.refusals.load(std::memory_order_acquire); // pairs with the adds of the victim
    ask(w, victim);
    const auto began = clock::now();
    bool signalled = false;
    for (int spins = 0;; ++spins) {
        if (w.slot.has_answer())
            if (impl::frame* f = w.slot.take()) return receive(w, f);
        if (w.slot.is_idle()) break; // answered, and taken back by its owner
        if (victim.refusals.load(std::memory_order_acquire) != refused || !w.arena().inbox.empty() ||
            is_called(w) || stopping.load(std::memory_order_relaxed) ||
            w.pending_wakes.load(std::memory_order_relaxed) != pending_wakes) // a hint: it looks then
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
    return receive(w, w.slot.withdraw());
}

task* thread_engine::park(thread_worker& w) {
    task* t = nullptr;
    bool slept = false;
    const auto ask = [&] {
        const workers victims = w.arena().scheduler->victims(w.local);
        if (victims.empty()) return;
        w.slot.ask_anybody(w.arena().number);
        for (worker_id v = victims.first; v < victims.last; ++v) {
            if (v == w.local) continue;
            thread_worker& victim = fellow(w, v);
            // Who is in a team inside of this arena looks into `parked` when it is back: see leave().
            if (victim.arena_now.load(std::memory_order_seq_cst) != &w.arena()) continue;
            victim.askers.insert(rank(w.id)); // seq_cst, before `working` is read
            if (!victim.working.load(std::memory_order_seq_cst))
                continue; // it will see the ask when it starts to work
            victim.hot->limit.store(0, std::memory_order_relaxed);
            signal(victim);
        }
    };
    const auto look = [&] {
        if (is_called(w) || !is_active(w)) return true; // what has come is for those that are active
        collect(w);
        if (decision p = next_task(w, true); p.t) {
            t = p.t;
            count_steal(w, p);
            return true;
        }
        if (stopping.load(std::memory_order_seq_cst) || !w.arena().inbox.empty())
            return true; // pairs with stop()
        w.count.parks.add();
        w.count.asleep.begin(now());
        note(w, trace::kind::sleep);
        slept = true;
        if (!fibers.has_spare()) return false;
        w.parker.sleep_for(fiber_pool::linger); // then it looks whether they are still not needed
        return true;
    };
    sleep_protocol_of(w.arena())->park(w.local, ask, look);
    if (slept) {
        w.count.asleep.end(now());
        note(w, trace::kind::wake);
    }
    if (impl::frame* f = w.slot.withdraw()) {
        // With a task in hand already, the frame is offered to the policy like any other.
        task* got = receive(w, f);
        if (!t) return got;
        if (got) offer(w, *got, ready_reason::exposed);
    }
    return t;
}

void thread_engine::collect(thread_worker& w) {
    if (!w.arena().inbox.empty()) take_submitted(w);
    if (has_messages(w)) [[unlikely]]
        read_messages(w);
}

bool thread_engine::take_submitted(thread_worker& w) {
    auto handed_in = w.arena().inbox.take_all();
    bool any = false;
    while (task* t = handed_in.pop_front()) {
        offer(w, *t, static_cast<ready_reason>(t->arrives_as_));
        any = true;
    }
    return any;
}

void thread_engine::announce(worker& w, const placement& p) {
    sleep_protocol_of(w.arena())->announce(p.who, p.near < 0 ? w.local : p.near);
}

void thread_engine::wake_in(arena& a, workers who) {
    queue::std_sync::fence(std::memory_order_seq_cst); // as in announce()
    for (worker_id w = who.first; w < who.last; ++w)
        if (a.parked.erase(rank(w))) static_cast<thread_worker*>(a.members[rank(w)])->parker.wake();
}

void thread_engine::wake_for_team(arena& a, const std::vector<int>& by_cell) {
    // After the request was published; who parks or stands by looks for it after a fence of its own.
    queue::std_sync::fence(std::memory_order_seq_cst);
    std::vector<int> left = by_cell;
    for (worker_id r = 0; r < a.size(); ++r) {
        auto& w = static_cast<thread_worker&>(*a.members[rank(r)]);
        int& wanted = left[static_cast<std::size_t>(a.cell_of(w.core))];
        if (wanted == 0) continue;
        if (a.parked.erase(rank(r))) {
            --wanted;
            w.parker.wake();
        } else if (r >= a.active_count.load(std::memory_order_relaxed)) { // it may stand by
            w.parker.wake();
        }
    }
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
