#include "engine/core/exposure.hpp"
#include "engine/core/switch.hpp"
#include "engine/model/model_engine.hpp"

#include <utility>

/// How a virtual worker comes by its tasks. The steps are those of the threads engine (engine/threads/search.cpp);
/// what takes time there is charged here.
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
    pay(w);
    task* t = look(w, false).t;
    if (t) {
        w.working = true;
        return t;
    }
    w.working = false;
    w.count.begin_idle(now());
    searching.insert(rank(w.id));
    for (time_ns since = now(); !t;) {
        pick p = look(w, false);
        t = p.t;
        if (!t && p.ask) t = ask(w, *crew[static_cast<std::size_t>(p.from)]);
        if (t) break;
        if (now() - since >= options.patience) {
            searching.erase(rank(w.id));
            t = park(w);
            searching.insert(rank(w.id));
            since = now();
        } else if (now() == since) {
            pass(w, 1); // where looking costs nothing, time must go on nevertheless
        }
    }
    w.count.end_idle(now());
    watching().stop_searching(w.id);
    w.working = true;
    pay(w);
    return t;
}

pick model_engine::look(model_worker& w, bool last) {
    take_submitted(w);
    const pick p = scheduler->next(w.id, last);
    const bool away = p.from != w.id;
    const bool shared = p.from >= worker_count();
    w.debt += shared ? options.price.lock : away ? way(w.id, p.from) : options.price.look;
    if (p.t && away && !shared) w.count.steals.add();
    pay(w);
    return p;
}

time_ns model_engine::way(worker_id from, worker_id to) const noexcept {
    const auto ns = on.steal_latency_ns(core_of(from), core_of(to));
    return ns ? static_cast<time_ns>(*ns) : options.price.look_away;
}

task* model_engine::receive(model_worker& w, impl::frame* entry) {
    if (!entry) return nullptr;
    w.count.steals.add();
    task& t = task_of_frame(w, *entry);
    const placed p = scheduler->ready(w.id, t, why::exposed);
    task* mine = scheduler->next(w.id, false).t;
    if (mine != &t) announce(w, p); // the policy keeps it for somebody else, or for later
    return mine;
}

task* model_engine::ask(model_worker& w, model_worker& victim) {
    if (&victim == &w || !victim.working) return nullptr;
    const time_ns there = way(w.id, victim.id) / 2;
    pass(w, there + options.price.exposure);
    hand_out(victim, w);
    pass(w, there);
    return receive(w, std::exchange(w.answer, nullptr));
}

bool model_engine::hand_out(worker& victim, model_worker& thief) noexcept {
    if (!victim.current->running) return false; // between two tasks
    fiber* of = nullptr;
    impl::frame* const entry = oldest_hidden(victim, of);
    if (!entry) return false;
    exposure(victim, *of, *entry, thief.id);
    victim.count.exposures.add();
    thief.answer = entry;
    return true;
}

void model_engine::answer(worker& victim, bool) noexcept {
    // Those who sleep, and have asked before.
    fiber* of = nullptr;
    while (oldest_hidden(victim, of)) {
        const auto id = victim.askers.take_one_in(0, rank(worker_count()), rank(victim.id));
        if (!id) return;
        model_worker& asker = *crew[*id];
        if (asker.answer || !parked.contains(*id)) continue;
        hand_out(victim, asker);
        asker.bed.wake();
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
            victim.askers.insert(rank(w.id));
            if (victim.working) hand_out(victim, w);
        }
    };
    const auto look_again = [&] {
        if (w.answer) return true;
        take_submitted(w);
        if (pick p = scheduler->next(w.id, true); p.t) {
            t = p.t;
            return true;
        }
        w.count.parks.add();
        return false;
    };
    watching().park(w.id, ask_all, look_again);
    if (impl::frame* f = std::exchange(w.answer, nullptr)) {
        task* got = receive(w, f);
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
    self.debt += p.at >= worker_count() ? options.price.lock : p.at != w.id ? way(w.id, p.at) : 0;
    watching().announce(p.who, w.id);
}

void model_engine::wake(workers who) {
    for (worker_id w = who.first; w < who.last; ++w)
        if (parked.erase(rank(w))) crew[rank(w)]->bed.wake();
}

} // namespace weft::engine
