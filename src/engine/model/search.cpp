#include "engine/idle/exposure.hpp"
#include "engine/idle/worker_search.hpp"
#include "engine/model/model_engine.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

/// What the search of idle/search.hpp is for virtual workers: what takes time there is charged here.
namespace weft::engine {

namespace {

model_worker& peer(const arena& a, worker_id r) noexcept {
    return static_cast<model_worker&>(*a.members[rank(r)]);
}

} // namespace

struct model_engine::pace {
    model_engine& of;
    model_worker& w;
    time_ns since = of.now();
    time_ns looked_at = 0;

    void begins_look() noexcept { looked_at = of.now(); }
    bool is_over() noexcept {
        // A worker that never sleeps does so when no other one can give it anything any more, so that it can be told.
        const bool alone = of.working_count == 0 && of.alarms.empty();
        if (of.now() - since >= of.options.patience || (alone && of.never_sleeps())) return true;
        if (of.now() == looked_at)
            of.spend(w, 1, activity::search); // where looking costs nothing, time must go on nevertheless
        return false;
    }
    void restart() noexcept { since = of.now(); }
};

void model_engine::schedule() { worker_search(*this).schedule(); }

model_engine::pace model_engine::pace_of(model_worker& w) noexcept { return {*this, w}; }

void model_engine::keeps_working(model_worker& w) noexcept {
    if (!std::exchange(w.working, true)) ++working_count;
}

void model_engine::stops_working(model_worker& w) noexcept {
    if (std::exchange(w.working, false)) --working_count;
    refuse_askers(w);
}

void model_engine::starts_working(model_worker& w) noexcept {
    w.working = true;
    ++working_count;
    flush_charges(w, activity::search);
}

bool model_engine::hears_call(model_worker& w) {
    if (!is_called(w)) return false;
    w.pending_charges += on.charges().look;
    flush_charges(w, activity::search);
    return true;
}

void model_engine::looked(model_worker& w, const decision& p, bool at_hand) {
    const arena& in = w.arena();
    const bool shared = p.from >= in.size();
    const bool away = !shared && p.from != w.local;
    w.pending_charges += shared ? on.charges().lock : away ? latency(w, peer(in, p.from)) : on.charges().look;
    if (p.t && away) {
        w.pending_charges += transfer_time(peer(in, p.from), w, p.t);
        count_steal(w, peer(in, p.from), p.t);
    }
    flush_charges(w, at_hand ? activity::overhead : activity::search);
}

void model_engine::found_last(model_worker& w, const decision& p) {
    if (p.from == w.local || p.from >= w.arena().size()) return;
    const model_worker& victim = peer(w.arena(), p.from);
    count_steal(w, victim, p.t);
    // A sleeper has looked everywhere in no time; what it brings from far away takes its time.
    if (on.has_links()) w.pending_charges += latency(w, victim) + transfer_time(victim, w, p.t);
}

bool model_engine::is_interrupted(const model_worker& w) const noexcept { return w.answer || is_called(w); }

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

impl::frame* model_engine::ask(model_worker& w, model_worker& victim) {
    const double there = latency(w, victim) / 2;
    spend(w, there, activity::search);
    if (victim.working && &victim.arena() == &w.arena()) wait_for_answer(w, victim);
    spend(w, there, activity::search); // its owner may take the answer back meanwhile
    return take_answer(w);
}

bool model_engine::stands(model_worker& w, model_worker& victim) {
    if (victim.working && expose_to(victim, w))
        spend(w, latency(w, victim) + on.charges().signal, activity::search);
    return !w.answer;
}

void model_engine::count_answer(model_worker& w, const task& t) {
    count_steal(w, *all_workers[static_cast<std::size_t>(w.answered_by)], &t);
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
    if (victim.working && &victim.arena() == &w.arena()) expose_to(victim, w);
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

bool model_engine::expose_to(worker& victim, model_worker& thief) noexcept {
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
    if (has_message_mark(victim)) read_messages(victim);
    fiber* of = nullptr;
    while (oldest_hidden(victim, of)) {
        const auto id = victim.askers.take_one_in(0, rank(worker_count()), rank(victim.id));
        if (!id) return;
        model_worker& asker = *all_workers[*id];
        if (asker.answer || &asker.arena() != &victim.arena()) continue;
        if (asker.asks == &victim) {
            if (expose_to(victim, asker)) end_wait(asker);
        } else if (asker.arena().parked.contains(rank(asker.local)) && expose_to(victim, asker)) {
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

void model_engine::announce(worker& w, const placement& p) {
    auto& self = static_cast<model_worker&>(w);
    const arena& in = w.arena();
    self.pending_charges += p.at >= in.size() ? on.charges().lock
                            : p.at != w.local ? latency(w, peer(in, p.at))
                                              : 0;
    announce_in(w.arena(), p.who, p.near < 0 ? w.local : p.near);
}

void model_engine::announce_in(arena& a, workers who, worker_id near) {
    const auto left_to = sleep_protocol_of(a)->announce(who, near);
    if (!left_to) return;
    model_worker& searcher = peer(a, static_cast<worker_id>(*left_to));
    searcher.is_told = true;
    if (searcher.asks) end_wait(searcher);
}

// ---- teams

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
