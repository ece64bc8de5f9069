#include "engine/idle/exposure.hpp"
#include "engine/idle/offer_ahead.hpp"
#include "engine/idle/worker_search.hpp"
#include "engine/model/model_engine.hpp"
#include "engine/model/virtual_clock.hpp"
#include "engine/worker/message.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offers_ahead.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <utility>

/// What the steps of idle/worker_search.hpp are for virtual workers. The time that a step takes is charged
/// here.
namespace weft::engine {

namespace {

model_worker& member_of(const arena& a, worker_id r) noexcept {
    return static_cast<model_worker&>(*a.members[rank(r)]);
}

} // namespace

struct model_engine::spin_budget {
    model_engine& of;
    model_worker& w;

    void begin_look() noexcept { w.looked_at = of.now(); }
    bool is_over() const noexcept {
        // A worker that never sleeps is set aside all the same while nothing can bring it work: no worker
        // runs a task, and no timer is set.
        const bool no_source_of_work = of.working_count == 0 && of.alarms.empty();
        return of.now() - w.search_since >= of.options.spin_time || (no_source_of_work && of.never_sleeps());
    }
    bool is_spent() noexcept {
        if (is_over()) return true;
        if (of.now() == w.looked_at)
            of.spend_time(w, 1, activity::search); // time must pass even if a look costs nothing
        return false;
    }
    void restart() noexcept { w.search_since = of.now(); }
};

void model_engine::schedule() { worker_search(*this).schedule(); }

model_engine::spin_budget model_engine::spin_budget_of(model_worker& w) noexcept {
    w.search_since = now();
    return {*this, w};
}

void model_engine::before_first_look(model_worker& w) noexcept {
    flush_charges(w, activity::overhead);
    if (!sim->cores || !sim->cores->gives_way(w)) return;
    count_bulk_down(w); // the worker may never have its core again, and others wait for what it has ended
    sim->cores->give_way(w);
}

void model_engine::keeps_working(model_worker& w) noexcept {
    if (!std::exchange(w.working, true)) ++working_count;
    begin_ticking();
}

void model_engine::stops_working(model_worker& w) noexcept {
    if (std::exchange(w.working, false)) --working_count;
    refuse_askers(w);
}

void model_engine::starts_working(model_worker& w) noexcept {
    w.working = true;
    ++working_count;
    begin_ticking();
    flush_charges(w, activity::search);
}

bool model_engine::looks_at_call(model_worker& w) {
    if (!is_called(w)) return false;
    w.pending_charges += machine.charges().look;
    flush_charges(w, activity::search);
    return true;
}

void model_engine::after_look(model_worker& w, decision& p, bool first) {
    charge_look(w, p);
    // Exchanges and programs beside this one end a wait for other reasons than the time of a look.
    if (!first && !need.exchanges && !sim->cores) w.found = p;
    flush_charges(w, first ? activity::overhead : activity::search);
    if (w.found) p = *w.found;
    w.found.reset();
}

bool model_engine::looks_on(model_worker& w) {
    const sanitizer::unseen from_here;
    worker_search search(*this);
    spin_budget budget{*this, w};
    decision& p = *w.found;
    for (;;) { // what find_work() does between two looks, and what they take
        set_activity(w, activity::search);
        if (p.t || p.ask || p.moved > 0 || budget.is_over()) return false;
        if (w.arena().has_calls() || !search.is_active(w)) return false;
        budget.begin_look();
        p = search.begin_look(w);
        charge_look(w, p);
        const double due = std::exchange(w.pending_charges, 0);
        const time_ns takes = due > 0 ? time_of(w, due) : 0;
        if (takes == 0) return false; // is_spent() lets time pass
        if (sim->passes_alone(now() + takes)) continue;
        sim->resume_worker(w, takes);
        return true;
    }
}

void model_engine::charge_look(model_worker& w, const decision& p) {
    const arena& in = w.arena();
    const bool shared = p.from >= in.size();
    const bool away = !shared && p.from != w.local;
    w.pending_charges += shared ? (p.t ? change_shared(w, p.from, 2) : machine.charges().lock)
                         : away ? latency(w, member_of(in, p.from))
                                : machine.charges().look;
    if (p.t && away) {
        w.pending_charges += transfer_time(member_of(in, p.from), w, p.t);
        count_steal(w, member_of(in, p.from), p.t);
    }
}

double model_engine::change_shared(const model_worker& w, place_id at, int lines) {
    const arena& in = w.arena();
    shared_place& place = shared_places[{in.number, at}];
    const int core = w.core();
    const time_ns comes = now() + whole_ns(w.pending_charges);
    const time_ns waits = std::max<time_ns>(place.free_at - comes, 0);
    double takes = machine.charges().lock;
    if (place.changed_on >= 0 && place.changed_on != core) {
        const double both_ways =
            machine.steal_latency_ns(place.changed_on, core).value_or(machine.charges().look_away);
        // One that waits has taken the line of the lock from the core that is to release it.
        takes += both_ways / 2 * (lines + (waits > 0 ? 1 : 0));
    }
    place = {core, comes + waits + whole_ns(takes)};
    return static_cast<double>(waits) + takes;
}

void model_engine::found_in_last_look(model_worker& w, const decision& p) {
    if (p.from == w.local || p.from >= w.arena().size()) return;
    const model_worker& victim = member_of(w.arena(), p.from);
    count_steal(w, victim, p.t);
    // The last look takes no time, wherever it goes; bringing the task from another package does.
    if (machine.has_links()) w.pending_charges += latency(w, victim) + transfer_time(victim, w, p.t);
}

bool model_engine::is_interrupted(const model_worker& w) const noexcept {
    return w.answer || is_called(w) || w.local >= w.arena().active().last;
}

double model_engine::transfer_time(const worker& from, const worker& to, const task* t) const noexcept {
    const double bytes = static_cast<double>(machine.message_bytes()) + static_cast<double>(t->hint().bytes);
    return machine.link_gbps(from.core(), to.core()) ? bytes / *machine.link_gbps(from.core(), to.core()) : 0;
}

void model_engine::deliver(worker& sender, message& m) {
    const int from = machine.package_of(sender.core()), to = machine.package_of(m.receiver->core());
    const time_ns base = epoch_of(now());
    auto leaves = static_cast<double>(now() - base);
    if (const auto gbps = machine.link_gbps(sender.core(), m.receiver->core())) {
        simulation::busy_link& link = sim->links[static_cast<std::size_t>(from) * machine.packages().size() +
                                                 static_cast<std::size_t>(to)];
        leaves = std::max(leaves, static_cast<double>(link.since - base) + link.after);
        leaves += (static_cast<double>(machine.message_bytes()) + m.data_bytes()) / *gbps;
        link = {base, leaves};
    }
    const double arrives = leaves + latency(sender, *m.receiver) / 2;
    sim->events.push(
        at_or_after(base, arrives),
        [](void* what) {
            auto& come = *static_cast<message*>(what);
            auto& receiver = static_cast<model_worker&>(*come.receiver);
            put_in_mailbox(come);
            receiver.parker.wake();
            if (std::exchange(receiver.awaits_team, false)) receiver.model.sim->resume_worker(receiver, 0);
        },
        &m);
}

double model_engine::latency(const worker& from, const worker& to) const noexcept {
    return machine.steal_latency_ns(from.core(), to.core()).value_or(machine.charges().look_away);
}

void model_engine::count_steal(model_worker& w, const worker& from, const task* t) {
    w.count.steals.add();
    note_steal(w, from, t);
    ++steals_by_distance[machine.distance(w.core(), from.core())];
}

// ---- hidden entries

impl::frame* model_engine::ask(model_worker& w, model_worker& victim) {
    const double there = latency(w, victim) / 2;
    spend_time(w, there, activity::search);
    if (victim.working && &victim.arena() == &w.arena()) wait_for_answer(w, victim);
    spend_time(w, there, activity::search); // its owner may reclaim the answer meanwhile
    return take_answer(w);
}

bool model_engine::place_standing_ask(model_worker& w, model_worker& victim) {
    if (victim.working && expose_to(victim, w))
        spend_time(w, latency(w, victim) + machine.charges().signal, activity::search);
    return !w.answer;
}

void model_engine::count_answer(model_worker& w, const task& t) {
    count_steal(w, *all_workers[static_cast<std::size_t>(w.answered_by)], &t);
}

void model_engine::wait_for_answer(model_worker& w, model_worker& victim) {
    const time_ns until = whole_ns(machine.charges().exposure + machine.charges().signal);
    if (w.notified) return;
    if (until > 0) {
        victim.askers.insert(rank(w.id));
        w.asked_victim = &victim;
        w.deadline = sim->events.push(now() + until, nullptr, &w);
        set_activity(w, activity::search);
        sim->suspend_worker(w);
        w.deadline.reset();
        set_activity(w, activity::search);
        victim.askers.erase(rank(w.id));
        if (!std::exchange(w.asked_victim, nullptr))
            return; // answered, refused, or notified of something else
    }
    // No answer until the deadline: the victim is interrupted.
    if (victim.working && &victim.arena() == &w.arena()) expose_to(victim, w);
}

void model_engine::end_wait_for_answer(model_worker& asker) {
    asker.asked_victim = nullptr;
    if (!asker.deadline) return; // it resumes when it has its core
    sim->events.cancel(*std::exchange(asker.deadline, std::nullopt));
    sim->resume_worker(asker, 0);
}

void model_engine::refuse_askers(model_worker& victim) {
    for (auto& asker : all_workers)
        if (asker->asked_victim == &victim) end_wait_for_answer(*asker);
}

bool model_engine::expose_to(worker& victim, model_worker& thief) noexcept {
    if (!victim.current->running) return false; // it is between two tasks
    if (static_cast<const model_worker&>(victim).on_core == core_state::waiting)
        return false;                    // it answers when it has a core again
    if (fibers.is_short()) return false; // its owner may have to wait for it on another stack
    fiber* of = nullptr;
    impl::frame* const entry = oldest_hidden(victim, of);
    if (!entry) return false;
    note_offer(victim, number_of(*entry), thief);
    exposure(victim, *of, *entry, thief.id);
    victim.count.exposures.add();
    begin_offering_ahead(victim);
    thief.answer = entry;
    thief.answered_by = victim.id;
    return true;
}

void model_engine::answer(worker& victim, bool) noexcept {
    if (has_message_mark(victim)) read_messages(victim);
    offer_ahead_and(victim, [&] { expose_to_askers(victim); });
}

void model_engine::expose_to_askers(worker& victim) noexcept {
    fiber* of = nullptr;
    while (oldest_hidden(victim, of)) {
        const auto id = victim.askers.take_one_in(0, rank(worker_count()), rank(victim.id));
        if (!id) return;
        model_worker& asker = *all_workers[*id];
        if (asker.answer || &asker.arena() != &victim.arena()) continue;
        if (asker.asked_victim == &victim) {
            if (expose_to(victim, asker)) end_wait_for_answer(asker);
        } else if (asker.arena().parked.contains(rank(asker.local)) && expose_to(victim, asker)) {
            asker.parker.wake();
        }
    }
}

bool model_engine::reclaim(worker& w, impl::frame& f) noexcept {
    impl::frame*& in_flight = all_workers[static_cast<std::size_t>(f.thief)]->answer;
    if (in_flight != &f) return false;
    in_flight = nullptr;
    w.count.returned.add();
    return true;
}

void model_engine::announce(worker& w, const placement& p) {
    auto& self = static_cast<model_worker&>(w);
    const arena& in = w.arena();
    self.pending_charges += p.at >= in.size() ? change_shared(self, p.at, 1)
                            : p.at != w.local ? latency(w, member_of(in, p.at))
                                              : 0;
    announce_in(w.arena(), p.who, p.near < 0 ? w.local : p.near);
}

void model_engine::announce_in(arena& a, workers range, worker_id near) {
    const auto left_to = sleep_protocol_of(a)->announce(range, near);
    if (!left_to) return;
    model_worker& searcher = member_of(a, static_cast<worker_id>(*left_to));
    searcher.notified = true;
    if (searcher.asked_victim) end_wait_for_answer(searcher);
}

// ---- teams

void model_engine::await_team(worker& of) {
    auto& w = static_cast<model_worker&>(of);
    set_activity(w, activity::search);
    while (!w.called_into.load(std::memory_order_relaxed)) {
        if (has_messages(w)) {
            read_messages(w);
            continue;
        }
        w.awaits_team = true;
        sim->sleep_worker(w); // until call()
    }
    set_activity(w, activity::search);
}

void model_engine::call(worker& of) noexcept {
    auto& w = static_cast<model_worker&>(of);
    if (std::exchange(w.awaits_team, false))
        sim->resume_worker(w, 0);
    else
        w.parker.wake(); // it may sleep as an inactive worker
}

} // namespace weft::engine
