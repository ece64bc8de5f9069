#include "engine/core/exposure.hpp"
#include "engine/core/switch.hpp"
#include "engine/model/model_engine.hpp"

#include <utility>

/// How a virtual worker comes by its tasks. The steps are those of the threads engine
/// (engine/threads/search.cpp); what takes time there is charged here.
namespace weft::engine {

namespace {

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
    pay(w, activity::overhead);
    task* t = look(w, false, activity::overhead).t;
    if (t) {
        if (!std::exchange(w.working, true)) ++working_count;
        return t;
    }
    if (std::exchange(w.working, false)) --working_count;
    refuse_askers(w);
    w.count.begin_idle(now());
    searching.insert(rank(w.id));
    for (time_ns since = now(); !t;) {
        const time_ns looked_at = now();
        pick p = look(w, false, activity::search);
        t = p.t;
        if (!t && p.ask) t = ask(w, *crew[static_cast<std::size_t>(p.from)]);
        if (t) break;
        // Who never sleeps does so when nobody can give it anything any more, so that it can be told.
        const bool alone = working_count == 0 && alarms.empty();
        if (now() - since >= options.patience || (alone && never_sleeps())) {
            searching.erase(rank(w.id));
            t = park(w);
            searching.insert(rank(w.id));
            since = now();
        } else if (now() == looked_at) {
            spend(w, 1, activity::search); // where looking costs nothing, time must go on nevertheless
        }
    }
    w.count.end_idle(now());
    watching().stop_searching(w.id);
    w.working = true;
    ++working_count;
    pay(w, activity::search);
    return t;
}

pick model_engine::look(model_worker& w, bool last, activity as) {
    take_submitted(w);
    const pick p = next_task(w, last);
    const bool shared = p.from >= worker_count();
    const bool away = !shared && p.from != w.id;
    w.debt += shared ? on.charges().lock : away ? way(w.id, p.from) : on.charges().look;
    if (p.t && away) count_steal(w, p.from);
    pay(w, as);
    return p;
}

double model_engine::way(worker_id from, worker_id to) const noexcept {
    return on.steal_latency_ns(core_of(from), core_of(to)).value_or(on.charges().look_away);
}

void model_engine::count_steal(model_worker& w, int from) {
    w.count.steals.add();
    ++steals_by_distance[on.distance(core_of(w.id), core_of(from))];
}

// ---- hidden entries

task* model_engine::receive(model_worker& w) {
    impl::frame* const entry = std::exchange(w.answer, nullptr);
    if (!entry) return nullptr;
    count_steal(w, w.answered_by);
    task& t = task_of_frame(w, *entry);
    const placed p = scheduler->ready(w.id, t, why::exposed);
    task* mine = scheduler->next(w.id, false).t;
    if (mine != &t) announce(w, p); // the policy keeps it for somebody else, or for later
    return mine;
}

task* model_engine::ask(model_worker& w, model_worker& victim) {
    if (&victim == &w || !victim.working) return nullptr;
    const double there = way(w.id, victim.id) / 2;
    spend(w, there, activity::search);
    if (victim.working) wait_for_answer(w, victim);
    spend(w, there, activity::search); // its owner may take the answer back meanwhile
    return receive(w);
}

void model_engine::wait_for_answer(model_worker& w, model_worker& victim) {
    const auto until = static_cast<time_ns>(on.charges().exposure + on.charges().signal);
    if (until > 0) {
        victim.askers.insert(rank(w.id));
        w.asks = &victim;
        w.deadline = events.push(now() + until, nullptr, &w);
        turn(w, activity::search);
        block(w);
        turn(w, activity::search);
        victim.askers.erase(rank(w.id));
        if (!std::exchange(w.asks, nullptr)) return; // answered, or refused
    }
    // It was interrupted.
    if (victim.working) hand_out(victim, w);
}

void model_engine::end_wait(model_worker& asker) {
    asker.asks = nullptr;
    events.cancel(asker.deadline);
    go_on(asker, 0);
}

void model_engine::refuse_askers(model_worker& victim) {
    for (auto& asker : crew)
        if (asker->asks == &victim) end_wait(*asker);
}

bool model_engine::hand_out(worker& victim, model_worker& thief) noexcept {
    if (!victim.current->running) return false; // between two tasks
    fiber* of = nullptr;
    impl::frame* const entry = oldest_hidden(victim, of);
    if (!entry) return false;
    exposure(victim, *of, *entry, thief.id);
    victim.count.exposures.add();
    thief.answer = entry;
    thief.answered_by = victim.id;
    return true;
}

void model_engine::answer(worker& victim, bool) noexcept {
    fiber* of = nullptr;
    while (oldest_hidden(victim, of)) {
        const auto id = victim.askers.take_one_in(0, rank(worker_count()), rank(victim.id));
        if (!id) return;
        model_worker& asker = *crew[*id];
        if (asker.answer) continue;
        if (asker.asks == &victim) {
            if (hand_out(victim, asker)) end_wait(asker);
        } else if (parked.contains(*id) && hand_out(victim, asker)) {
            asker.bed.wake();
        }
    }
}

bool model_engine::take_back(worker& w, impl::frame& f) noexcept {
    impl::frame*& on_its_way = crew[static_cast<std::size_t>(f.thief)]->answer;
    if (on_its_way != &f) return false;
    on_its_way = nullptr;
    w.count.returned.add();
    return true;
}

task* model_engine::park(model_worker& w) {
    task* t = nullptr;
    const auto ask_all = [&] {
        const workers victims = scheduler->victims(w.id);
        for (worker_id v = victims.first; v < victims.last && !w.answer; ++v) {
            if (v == w.id) continue;
            model_worker& victim = *crew[static_cast<std::size_t>(v)];
            victim.askers.insert(rank(w.id)); // stays: who begins to work later answers then
            if (victim.working && hand_out(victim, w))
                spend(w, way(w.id, v) + on.charges().signal, activity::search);
        }
    };
    const auto look_again = [&] {
        if (w.answer) return true;
        take_submitted(w);
        if (pick p = next_task(w, true); p.t) {
            t = p.t;
            if (p.from != w.id && p.from < worker_count()) count_steal(w, p.from);
            return true;
        }
        w.count.parks.add();
        return false;
    };
    watching().park(w.id, ask_all, look_again);
    if (w.answer) {
        task* got = receive(w);
        if (!t) return got;
        if (got) offer(w, *got, why::exposed);
    }
    return t;
}

bool model_engine::take_submitted(model_worker& w) {
    bool any = false;
    while (task* t = inbox.pop_front()) {
        offer(w, *t, static_cast<why>(t->arrives_as_));
        any = true;
    }
    return any;
}

void model_engine::announce(worker& w, const placed& p) {
    auto& self = static_cast<model_worker&>(w);
    self.debt += p.at >= worker_count() ? on.charges().lock : p.at != w.id ? way(w.id, p.at) : 0;
    watching().announce(p.who, p.near < 0 ? w.id : p.near);
}

void model_engine::wake(workers who) {
    for (worker_id w = who.first; w < who.last; ++w)
        if (parked.erase(rank(w))) crew[rank(w)]->bed.wake();
}

} // namespace weft::engine
