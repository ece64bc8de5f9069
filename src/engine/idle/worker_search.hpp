#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/idle/collect.hpp"
#include "engine/idle/search.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/admission.hpp"
#include "engine/team/molding.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/offers_ahead.hpp"
#include "engine/worker/task_record.hpp"
#include "task/sanitizers.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

/// The steps of idle/search.hpp for a worker of an engine: what both engines do alike. `Engine` supplies what
/// differs, and what costs time where time is modelled:
///
///   before_first_look, keeps_working, stops_working, starts_working    (w)
///   is_notified(w)                                       a wake was left to w since its last look; may be missed
///   before_look(w), after_look(w, decision, first)       around each look; `first`: w was busy until now. Where looks take
///                                                        modelled time, the decision may be that of a later look
///   looks_at_call(w)                                     after a call in w's arena: whether w looks at it
///   bound_task(w), wait_inactive(w)
///   may_ask(victim), ask(w, victim)                      a hidden entry of that victim, or null
///   begin_standing_asks(w)                               of a worker that parks
///   place_standing_ask(w, victim)                        likewise; false: w has its answer
///   is_interrupted(w)                                    whether w gives up parking
///   found_in_last_look(w, decision)                      the last look found a task
///   must_look_again(w)                                   the last look found none, but w must not sleep
///   sleep(w)                                             until w is woken, or for a limited time; returns a task
///                                                        that was left to w meanwhile, or null
///   take_answer(w), count_answer(w, task)
///   is_stopping(w)                                       the engine stops, or the thread of w leaves
///   end_worker(w)                                        then
///   spin_budget_of(w)
namespace weft::engine {

template <class Engine>
class worker_search {
public:
    using worker_type = typename Engine::worker_type;

    explicit worker_search(Engine& of) noexcept : of_(of) {}

    /// host::schedule(): takes tasks and runs them, until this fiber is given a child to run.
    void schedule() {
        fiber& self = *here().current;
        if (task* first = std::exchange(self.first, nullptr)) {
            // Spawned child-first by a parent that was working: the worker never stopped working.
            start(here(), *first);
        }
        for (;;) {
            worker_type& w = here();
            task* t = w.resume_first ? std::exchange(w.resume_first, nullptr) : find_work_unseen(w);
            if (t && t->claims_ && !admit(w, *t)) [[unlikely]]
                continue;
            if (t && t->molds_) [[unlikely]] {
                mold(w, *t);
                continue;
            }
            if (!t) {
                of_.end_worker(w);
            } else if (t->fresh()) {
                if (!w.has_reserve_fiber || starts_on_reserve(w, *t)) start(w, *t);
                continue;
            } else {
                resume(w, *t);
            }
            // Here this fiber was free, and is in use again.
            if (self.has_child) return;
            if (task* first = std::exchange(self.first, nullptr)) start(here(), *first);
        }
    }

    task* find_work_unseen(worker_type& w) {
        const sanitizer::unseen from_here;
        return find_work(*this, w);
    }

    // ---- the steps of find_work()
    void before_first_look(worker_type& w) { of_.before_first_look(w); }
    bool is_active(const worker_type& w) const noexcept {
        return w.local < w.arena().active_count.load(std::memory_order_relaxed); // as in sleep_protocol
    }
    bool is_called(const worker_type& w) const noexcept { return weft::engine::is_called(w); }
    decision first_look(worker_type& w) {
        collect(w);
        decision p = next_task(w, false);
        end_look(w, p, true);
        return p;
    }
    decision look(worker_type& w) {
        decision p = begin_look(w);
        end_look(w, p, false);
        return p;
    }
    /// A look of a worker that is not busy, up to what it finds. What it takes has not passed.
    decision begin_look(worker_type& w) {
        // What was announced lies at one place, and a look at one worker would probably miss it.
        const bool everywhere = w.engine.need.offers_ahead && of_.is_notified(w);
        of_.before_look(w);
        collect(w);
        return next_task(w, everywhere);
    }
    void keeps_working(worker_type& w) noexcept { of_.keeps_working(w); }
    void stops_working(worker_type& w) {
        count_bulk_down(w);
        of_.stops_working(w);
        const time_ns now = w.host.now();
        w.ahead.search_begins(now);
        w.count.idle.begin(now);
        note(w, trace::kind::search);
    }
    void search_ends(worker_type& w) noexcept {
        const time_ns now = w.host.now();
        w.ahead.search_ends(now);
        w.count.idle.end(now);
        note(w, trace::kind::found);
    }
    void starts_working(worker_type& w) { of_.starts_working(w); }
    queue::worker_set<>& searching(worker_type& w) noexcept { return w.arena().searching; }
    arena_sleep_protocol<worker_type> sleep(worker_type& w) noexcept {
        return arena_sleep_protocol<worker_type>(w.arena());
    }
    bool follow_call(worker_type& w) {
        return w.arena().has_calls() && of_.looks_at_call(w) && weft::engine::follow_call(w);
    }
    task* take_share(worker_type& w) noexcept { return std::exchange(w.share, nullptr); }
    task* bound_task(worker_type& w) { return of_.bound_task(w); }
    void wait_inactive(worker_type& w) { of_.wait_inactive(w); }
    bool is_stopping(const worker_type& w) const noexcept { return of_.is_stopping(w); }
    auto spin_budget(worker_type& w) { return of_.spin_budget_of(w); }

    task* ask(worker_type& w, const decision& p) {
        worker_type& victim = member(w, p.from);
        if (&victim == &w || !of_.may_ask(victim)) return nullptr;
        impl::frame* const entry = of_.ask(w, victim);
        return entry ? receive(w, *entry) : nullptr;
    }

    task* park(worker_type& w) {
        task* t = nullptr;
        const bool sleeps = begin_parking(w, t);
        if (sleeps) t = of_.sleep(w);
        return end_parking(w, t, sleeps);
    }
    /// The first part of parking. True if the worker may sleep; otherwise `t` is what the last look has found, or
    /// null.
    bool begin_parking(worker_type& w, task*& t) {
        const bool sleeps = sleep(w)->begin_parking(
            w.local, [&] { ask_all_victims(w); },
            [&] {
                if (of_.is_interrupted(w)) return true;
                collect(w);
                if (const decision p = next_task(w, true); p.t) {
                    t = p.t;
                    of_.found_in_last_look(w, p);
                    announce_moved(w, p);
                    return true;
                }
                return of_.must_look_again(w);
            });
        if (sleeps) {
            w.count.parks.add();
            w.count.asleep.begin(w.host.now());
            note(w, trace::kind::sleep);
        }
        return sleeps;
    }
    /// The rest of parking: the task `t`, or one that the worker was given while it was parked, or null.
    task* end_parking(worker_type& w, task* t, bool slept) {
        sleep(w)->end_parking(w.local);
        if (slept) {
            w.count.asleep.end(w.host.now());
            note(w, trace::kind::wake);
        }
        if (impl::frame* const entry = of_.take_answer(w)) {
            // If the worker has a task already, the frame is offered to the policy like any other.
            task* const got = receive(w, *entry);
            if (!t) return got;
            if (got) offer(w, *got, ready_reason::exposed);
        }
        return t;
    }

    /// Hands a task that no other worker has to the policy: the task that the policy gives to this worker, or null.
    task* receive(worker_type& w, task& t, ready_reason reason) {
        const auto at = w.log ? w.log->now() : 0;
        const std::uint32_t number = t.number_; // before another worker can have the task
        const placement p = w.arena().scheduler->ready(w.local, t, reason);
        if (w.log) note_placement(*w.log, at, number, p, reason);
        task* const mine = w.arena().scheduler->next(w.local, false).t;
        if (mine != &t) w.host.announce(w, p); // the policy keeps it for another worker, or for later
        return mine;
    }

private:
    static worker_type& here() noexcept { return static_cast<worker_type&>(*impl::hot_self()); }
    static worker_type& member(const worker_type& w, worker_id of_its_arena) noexcept {
        return static_cast<worker_type&>(*w.arena().members[rank(of_its_arena)]);
    }

    void end_look(worker_type& w, decision& p, bool first) {
        of_.after_look(w, p, first);
        announce_moved(w, p);
    }

    /// Workers that looked while these tasks were on their way have seen them in neither place.
    void announce_moved(worker_type& w, const decision& p) {
        if (p.moved > 0) [[unlikely]]
            w.host.announce(w, {.at = w.local, .who = w.arena().active()});
    }

    /// Asks every victim that the policy names, until one of them answers: README.md, "Sleep", step 3.
    void ask_all_victims(worker_type& w) {
        const workers victims = w.arena().scheduler->victims(w.local);
        if (victims.empty()) return;
        of_.begin_standing_asks(w);
        for (worker_id v = victims.first; v < victims.last; ++v) {
            if (v == w.local) continue;
            worker_type& victim = member(w, v);
            // A worker that is in a team inside this arena looks at `parked` when it returns (T4).
            if (victim.arena_now.load(std::memory_order_seq_cst) != &w.arena()) continue;
            victim.askers.insert(rank(w.id)); // seq_cst, before `working` is read (X3)
            if (!of_.place_standing_ask(w, victim)) return;
        }
    }

    /// Makes a task of an entry that this thief owns, and offers it to the policy: the task that the policy
    /// gives to this worker, or null.
    task* receive(worker_type& w, impl::frame& entry) {
        task& t = task_of_frame(w, entry);
        of_.count_answer(w, t);
        begin_offering_ahead(w);
        return receive(w, t, ready_reason::exposed);
    }

    Engine& of_;
};

} // namespace weft::engine
