#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/idle/collect.hpp"
#include "engine/idle/search.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/admission.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/task_record.hpp"

#include <atomic>
#include <utility>

/// The search of a worker of an engine: the steps that both engines share. What differs, and what costs time where time is
/// modelled, is asked of `Engine`:
///
///   arrives, keeps_working, stops_working, starts_working    (w)
///   look_begins(w), looked(w, decision, at_hand)    around each look
///   hears_call(w)                     a call was published in its arena: is it meant?
///   bound_task(w), wait_inactive(w)
///   ask(w, victim)                    a hidden entry of a working victim, or null
///   begin_standing_ask(w), stands(w, victim)    of a worker that is about to sleep; false: it has its answer
///   is_interrupted(w), found_last(w, decision), has_arrivals(w), sleeps_itself(w)    of its last look
///   take_answer(w), count_answer(w, task)
///   ends(w, fiber)                    the engine stops
///   is_stopping(), pace_of(w)
namespace weft::engine {

template <class Engine>
class worker_search {
public:
    using worker_type = typename Engine::worker_type;

    explicit worker_search(Engine& of) noexcept : of_(of) {}

    /// host::schedule().
    void schedule() {
        fiber& self = *here().current;
        if (task* first = std::exchange(self.first, nullptr)) {
            // Spawned child-first by a parent that was working: the worker never stopped.
            start(here(), *first);
        }
        for (;;) {
            worker_type& w = here();
            task* t = w.resume_first ? std::exchange(w.resume_first, nullptr) : find_work(*this, w);
            if (t && t->claims_ && !admit(w, *t)) [[unlikely]]
                continue;
            if (!t) {
                of_.ends(w, self);
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

    // ---- the steps of find_work()
    void arrives(worker_type& w) { of_.arrives(w); }
    bool is_active(const worker_type& w) const noexcept {
        return w.local < w.arena().active_count.load(std::memory_order_relaxed); // as in sleep_protocol
    }
    bool is_called(const worker_type& w) const noexcept { return weft::engine::is_called(w); }
    decision at_hand(worker_type& w) {
        collect(w);
        return look_once(w, true);
    }
    decision look(worker_type& w) {
        of_.look_begins(w);
        collect(w);
        return look_once(w, false);
    }
    void keeps_working(worker_type& w) noexcept { of_.keeps_working(w); }
    void stops_working(worker_type& w) {
        of_.stops_working(w);
        w.count.idle.begin(w.host.now());
        note(w, trace::kind::search);
    }
    void search_ends(worker_type& w) noexcept {
        w.count.idle.end(w.host.now());
        note(w, trace::kind::found);
    }
    void starts_working(worker_type& w) { of_.starts_working(w); }
    queue::worker_set<>& searching(worker_type& w) noexcept { return w.arena().searching; }
    arena_sleep_protocol<worker_type> sleep(worker_type& w) noexcept {
        return arena_sleep_protocol<worker_type>(w.arena());
    }
    bool follow_call(worker_type& w) {
        return w.arena().has_calls() && of_.hears_call(w) && weft::engine::follow_call(w);
    }
    task* take_share(worker_type& w) noexcept { return std::exchange(w.share, nullptr); }
    task* bound_task(worker_type& w) { return of_.bound_task(w); }
    void wait_inactive(worker_type& w) { of_.wait_inactive(w); }
    bool is_stopping(const worker_type&) const noexcept { return of_.is_stopping(); }
    auto pace(worker_type& w) { return of_.pace_of(w); }

    task* ask(worker_type& w, const decision& p) {
        worker_type& victim = member(w, p.from);
        if (&victim == &w || !of_.may_ask(victim)) return nullptr;
        impl::frame* const entry = of_.ask(w, victim);
        return entry ? receive(w, *entry) : nullptr;
    }

    task* park(worker_type& w) {
        task* t = nullptr;
        bool slept = false;
        sleep(w)->park(
            w.local, [&] { stand_asking(w); },
            [&] {
                if (of_.is_interrupted(w)) return true;
                collect(w);
                if (const decision p = next_task(w, true); p.t) {
                    t = p.t;
                    of_.found_last(w, p);
                    return true;
                }
                if (of_.has_arrivals(w)) return true;
                w.count.parks.add();
                w.count.asleep.begin(w.host.now());
                note(w, trace::kind::sleep);
                slept = true;
                return of_.sleeps_itself(w);
            });
        if (slept) {
            w.count.asleep.end(w.host.now());
            note(w, trace::kind::wake);
        }
        if (impl::frame* const entry = of_.take_answer(w)) {
            // With a task in hand already, the frame is offered to the policy like any other.
            task* const got = receive(w, *entry);
            if (!t) return got;
            if (got) offer(w, *got, ready_reason::exposed);
        }
        return t;
    }

private:
    static worker_type& here() noexcept { return static_cast<worker_type&>(*impl::hot_self()); }
    static worker_type& member(const worker_type& w, worker_id of_its_arena) noexcept {
        return static_cast<worker_type&>(*w.arena().members[rank(of_its_arena)]);
    }

    decision look_once(worker_type& w, bool at_hand) {
        const decision p = next_task(w, false);
        of_.looked(w, p, at_hand);
        return p;
    }

    /// Asks all whom the policy names, until one of them answers: engine/threads/README.md, "Sleep", step 3.
    void stand_asking(worker_type& w) {
        const workers victims = w.arena().scheduler->victims(w.local);
        if (victims.empty()) return;
        of_.begin_standing_ask(w);
        for (worker_id v = victims.first; v < victims.last; ++v) {
            if (v == w.local) continue;
            worker_type& victim = member(w, v);
            // A worker that is in a team inside of this arena looks into `parked` when it is back (T4).
            if (victim.arena_now.load(std::memory_order_seq_cst) != &w.arena()) continue;
            victim.askers.insert(rank(w.id)); // seq_cst, before `working` is read
            if (!of_.stands(w, victim)) return;
        }
    }

    /// The thief has the entry: it becomes a task, which the policy gives to this worker or keeps.
    task* receive(worker_type& w, impl::frame& entry) {
        const auto at = w.log ? w.log->now() : 0;
        task& t = task_of_frame(w, entry);
        of_.count_answer(w, t);
        const std::uint32_t number = t.number_; // before others can have it
        const placement p = w.arena().scheduler->ready(w.local, t, ready_reason::exposed);
        if (w.log) note_placement(*w.log, at, number, p, ready_reason::exposed);
        task* const mine = w.arena().scheduler->next(w.local, false).t;
        if (mine != &t) w.host.announce(w, p); // the policy keeps it for another worker, or for later
        return mine;
    }

    Engine& of_;
};

} // namespace weft::engine
