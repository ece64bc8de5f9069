#include "engine/idle/exposure.hpp"
#include "engine/idle/next_task.hpp"
#include "engine/model/model_engine.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/admission.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/task_record.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

/// How a virtual worker comes by its tasks. The steps are those of the threads engine
/// (engine/threads/search.cpp); what takes time there is charged here.
namespace weft::engine {

namespace {

model_worker& fellow(const arena& a, worker_id r) noexcept {
    return static_cast<model_worker&>(*a.members[rank(r)]);
}

model_worker& here() noexcept { return static_cast<model_worker&>(*impl::hot_self()); }

} // namespace

void model_engine::schedule() {
    fiber& self = *here().current;
    if (task* first = std::exchange(self.first, nullptr)) start(here(), *first);
    for (;;) {
        model_worker& w = here();
        task* t = w.resume_first ? std::exchange(w.resume_first, nullptr) : find_work(w);
        if (t->claims_ && !admit(w, *t)) continue;
        if (t->fresh()) {
            start(w, *t);
            continue;
        }
        resume(w, *t);
        // This fiber was free and is in use again.
        if (self.has_child) return;
        if (task* first = std::exchange(self.first, nullptr)) start(here(), *first);
    }
}

task* model_engine::find_work(model_worker& w) {
    flush_charges(w, activity::overhead);
    task* t = is_called(w) ? nullptr : look(w, false, activity::overhead).t;
    if (t) {
        if (!std::exchange(w.working, true)) ++working_count;
        return t;
    }
    if (std::exchange(w.working, false)) --working_count;
    refuse_askers(w);
    w.count.idle.begin(now());
    note(w, trace::kind::search);
    w.arena().searching.insert(rank(w.local));
    for (time_ns since = now(); !t;) {
        const time_ns looked_at = now();
        if (w.arena().calls_anybody() && is_called(w)) {
            w.pending_charges += on.charges().look;
            flush_charges(w, activity::search);
            if (follow_call(w)) { // else others were quicker
                t = std::exchange(w.share, nullptr);
                w.arena().searching.insert(rank(w.local));
                since = now();
                continue;
            }
        }
        w.is_told = false;
        decision p = look(w, false, activity::search);
        t = p.t;
        if (!t && p.ask) t = ask(w, fellow(w.arena(), p.from));
        if (t) break;
        // Who never sleeps does so when nobody can give it anything any more, so that it can be told.
        const bool alone = working_count == 0 && alarms.empty();
        if (now() - since >= options.patience || (alone && never_sleeps())) {
            w.arena().searching.erase(rank(w.local));
            t = park(w);
            w.arena().searching.insert(rank(w.local));
            since = now();
        } else if (now() == looked_at) {
            spend(w, 1, activity::search); // where looking costs nothing, time must go on nevertheless
        }
    }
    w.count.idle.end(now());
    note(w, trace::kind::found);
    sleep_protocol_of(w.arena())->stop_searching(w.local);
    w.working = true;
    ++working_count;
    flush_charges(w, activity::search);
    return t;
}

decision model_engine::look(model_worker& w, bool last, activity as) {
    collect(w);
    const arena& in = w.arena();
    const decision p = next_task(w, last);
    const bool shared = p.from >= in.size();
    const bool away = !shared && p.from != w.local;
    w.pending_charges += shared ? on.charges().lock
                         : away ? latency(w, fellow(in, p.from))
                                : on.charges().look;
    if (p.t && away) {
        w.pending_charges += transfer_time(fellow(in, p.from), w, p.t);
        count_steal(w, fellow(in, p.from), p.t);
    }
    flush_charges(w, as);
    return p;
}

double model_engine::transfer_time(const worker& from, const worker& to, const task* t) const noexcept {
    const double bytes = static_cast<double>(on.message_bytes()) + static_cast<double>(t->hint().bytes);
    return on.link_gbps(from.core, to.core) ? bytes / *on.link_gbps(from.core, to.core) : 0;
}

void model_engine::deliver(worker& sender, message& l) {
    const int from = on.package_of(sender.core), to = on.package_of(l.receiver->core);
    auto leaves = static_cast<double>(now());
    if (const auto gbps = on.link_gbps(sender.core, l.receiver->core)) {
        double& free_at = link_free_at[static_cast<std::size_t>(from) * on.packages().size() +
                                       static_cast<std::size_t>(to)];
        leaves = std::max(leaves, free_at);
        leaves += (static_cast<double>(on.message_bytes()) + l.data_bytes()) / *gbps;
        free_at = leaves;
    }
    const double arrives = leaves + latency(sender, *l.receiver) / 2;
    events.push(
        static_cast<time_ns>(std::ceil(arrives)),
        [](void* what) {
            auto& come = *static_cast<message*>(what);
            auto& receiver = static_cast<model_worker&>(*come.receiver);
            put_in_mailbox(come);
            receiver.parker.wake();
            if (std::exchange(receiver.awaits_team, false)) receiver.model.go_on(receiver, 0);
        },
        &l);
}

double model_engine::latency(const worker& from, const worker& to) const noexcept {
    return on.steal_latency_ns(from.core, to.core).value_or(on.charges().look_away);
}

void model_engine::count_steal(model_worker& w, const worker& from, const task* t) {
    w.count.steals.add();
    note_steal(w, from, t);
    ++steals_by_distance[on.distance(w.core, from.core)];
}

// ---- hidden entries

task* model_engine::receive(model_worker& w) {
    impl::frame* const entry = std::exchange(w.answer, nullptr);
    if (!entry) return nullptr;
    task& t = task_of_frame(w, *entry);
    count_steal(w, *all_workers[static_cast<std::size_t>(w.answered_by)], &t);
    const placement p = w.arena().scheduler->ready(w.local, t, ready_reason::exposed);
    if (w.log) note_placement(*w.log, w.log->now(), t.number_, p, ready_reason::exposed);
    task* mine = w.arena().scheduler->next(w.local, false).t;
    if (mine != &t) announce(w, p); // the policy keeps it for somebody else, or for later
    return mine;
}

task* model_engine::ask(model_worker& w, model_worker& victim) {
    if (&victim == &w || !victim.working) return nullptr;
    const double there = latency(w, victim) / 2;
    spend(w, there, activity::search);
    if (victim.working && &victim.arena() == &w.arena()) wait_for_answer(w, victim);
    spend(w, there, activity::search); // its owner may take the answer back meanwhile
    return receive(w);
}

void model_engine::wait_for_answer(model_worker& w, model_worker& victim) {
    const auto until = static_cast<time_ns>(on.charges().exposure + on.charges().signal);
    if (w.is_told) return;
    if (until > 0) {
        victim.askers.insert(rank(w.id));
        w.asks = &victim;
        w.deadline = events.push(now() + until, nullptr, &w);
        turn(w, activity::search);
        block(w);
        turn(w, activity::search);
        victim.askers.erase(rank(w.id));
        if (!std::exchange(w.asks, nullptr)) return; // answered, refused, or told of something else
    }
    // It was interrupted.
    if (victim.working && &victim.arena() == &w.arena()) expose_to_askers(victim, w);
}

void model_engine::end_wait(model_worker& asker) {
    asker.asks = nullptr;
    events.cancel(asker.deadline);
    go_on(asker, 0);
}

void model_engine::refuse_askers(model_worker& victim) {
    for (auto& asker : all_workers)
        if (asker->asks == &victim) end_wait(*asker);
}

bool model_engine::expose_to_askers(worker& victim, model_worker& thief) noexcept {
    if (!victim.current->running) return false; // between two tasks
    fiber* of = nullptr;
    impl::frame* const entry = oldest_hidden(victim, of);
    if (!entry) return false;
    note_offer(victim, number_of(*entry), thief);
    exposure(victim, *of, *entry, thief.id);
    victim.count.exposures.add();
    thief.answer = entry;
    thief.answered_by = victim.id;
    return true;
}

void model_engine::answer(worker& victim, bool) noexcept {
    if (is_marked(victim)) read_messages(victim);
    fiber* of = nullptr;
    while (oldest_hidden(victim, of)) {
        const auto id = victim.askers.take_one_in(0, rank(worker_count()), rank(victim.id));
        if (!id) return;
        model_worker& asker = *all_workers[*id];
        if (asker.answer || &asker.arena() != &victim.arena()) continue;
        if (asker.asks == &victim) {
            if (expose_to_askers(victim, asker)) end_wait(asker);
        } else if (asker.arena().parked.contains(rank(asker.local)) && expose_to_askers(victim, asker)) {
            asker.parker.wake();
        }
    }
}

bool model_engine::reclaim(worker& w, impl::frame& f) noexcept {
    impl::frame*& on_its_way = all_workers[static_cast<std::size_t>(f.thief)]->answer;
    if (on_its_way != &f) return false;
    on_its_way = nullptr;
    w.count.returned.add();
    return true;
}

task* model_engine::park(model_worker& w) {
    task* t = nullptr;
    bool slept = false;
    const auto ask_all = [&] {
        const workers victims = w.arena().scheduler->victims(w.local);
        for (worker_id v = victims.first; v < victims.last && !w.answer; ++v) {
            if (v == w.local) continue;
            model_worker& victim = fellow(w.arena(), v);
            if (&victim.arena() != &w.arena()) continue; // in a team inside of this arena: see leave()
            victim.askers.insert(rank(w.id));            // stays: who begins to work later answers then
            if (victim.working && expose_to_askers(victim, w))
                spend(w, latency(w, victim) + on.charges().signal, activity::search);
        }
    };
    const auto look_again = [&] {
        if (w.answer || is_called(w)) return true;
        collect(w);
        if (decision p = next_task(w, true); p.t) {
            t = p.t;
            if (p.from != w.local && p.from < w.arena().size()) {
                const model_worker& victim = fellow(w.arena(), p.from);
                count_steal(w, victim, t);
                // Who sleeps has looked everywhere in no time; what it brings from far away takes its time.
                if (on.has_links()) w.pending_charges += latency(w, victim) + transfer_time(victim, w, t);
            }
            return true;
        }
        w.count.parks.add();
        w.count.asleep.begin(now());
        note(w, trace::kind::sleep);
        slept = true;
        return false;
    };
    sleep_protocol_of(w.arena())->park(w.local, ask_all, look_again);
    if (slept) {
        w.count.asleep.end(now());
        note(w, trace::kind::wake);
    }
    if (w.answer) {
        task* got = receive(w);
        if (!t) return got;
        if (got) offer(w, *got, ready_reason::exposed);
    }
    return t;
}

void model_engine::collect(model_worker& w) {
    take_submitted(w);
    if (has_messages(w)) read_messages(w);
}

bool model_engine::take_submitted(model_worker& w) {
    auto handed_in = w.arena().inbox.take_all();
    bool any = false;
    while (task* t = handed_in.pop_front()) {
        offer(w, *t, static_cast<ready_reason>(t->arrives_as_));
        any = true;
    }
    return any;
}

void model_engine::announce(worker& w, const placement& p) {
    auto& self = static_cast<model_worker&>(w);
    const arena& in = w.arena();
    self.pending_charges += p.at >= in.size() ? on.charges().lock
                            : p.at != w.local ? latency(w, fellow(in, p.at))
                                              : 0;
    announce_in(w.arena(), p.who, p.near < 0 ? w.local : p.near);
}

void model_engine::announce_in(arena& a, workers who, worker_id near) {
    const auto left_to = sleep_protocol_of(a)->announce(who, near);
    if (!left_to) return;
    model_worker& searcher = fellow(a, static_cast<worker_id>(*left_to));
    searcher.is_told = true;
    if (searcher.asks) end_wait(searcher);
}

void model_engine::wake_in(arena& a, workers who) {
    for (worker_id w = who.first; w < who.last; ++w)
        if (a.parked.erase(rank(w))) fellow(a, w).parker.wake();
}

// ---- teams

void model_engine::wake_for_team(arena& a, const std::vector<int>& by_cell) {
    std::vector<int> left = by_cell;
    for (worker_id r = 0; r < a.size(); ++r) {
        int& wanted = left[static_cast<std::size_t>(a.cell_of(a.members[rank(r)]->core))];
        if (wanted == 0 || !a.parked.erase(rank(r))) continue;
        --wanted;
        fellow(a, r).parker.wake();
    }
}

void model_engine::await_team(worker& of) {
    auto& w = static_cast<model_worker&>(of);
    turn(w, activity::search);
    while (!w.called_into.load(std::memory_order_relaxed)) {
        if (has_messages(w)) {
            read_messages(w);
            continue;
        }
        w.awaits_team = true;
        block(w); // until call()
    }
    turn(w, activity::search);
}

void model_engine::call(worker& of) noexcept {
    auto& w = static_cast<model_worker&>(of);
    if (std::exchange(w.awaits_team, false)) go_on(w, 0);
}

} // namespace weft::engine
