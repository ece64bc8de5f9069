#include "engine/model/shared_cores.hpp"

#include "engine/model/model_engine.hpp"
#include "engine/model/simulation.hpp"
#include "engine/model/virtual_clock.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::engine {

shared_cores::shared_cores(simulation& of)
    : of_(of)
    , latency_(whole_ns(of.machine.time_sharing().latency))
    , least_slice_(whole_ns(of.machine.time_sharing().least_slice))
    , wakes_before_(whole_ns(of.machine.time_sharing().wakes_before))
    , switch_ns_(whole_ns(of.machine.time_sharing().switch_ns))
    , cores_(static_cast<std::size_t>(of.machine.size())) {
    for (one_core& c : cores_) c.of = this;
}

shared_cores::one_core& shared_cores::core_of(const model_worker& w) noexcept {
    return cores_[static_cast<std::size_t>(w.core())];
}
const shared_cores::one_core& shared_cores::core_of(const model_worker& w) const noexcept {
    return cores_[static_cast<std::size_t>(w.core())];
}

// ---- what workers do

bool shared_cores::may_run(model_worker& w) noexcept {
    if (w.on_core == core_state::asleep) {
        wait_for_core(w);
        return false;
    }
    assert(w.on_core == core_state::running); // give() alone ends a wait for a core
    one_core& c = core_of(w);
    if (w.moves_to) { // it could not be interrupted until now
        w.deadline.reset();
        take_away(c);
        move(w, cores_[static_cast<std::size_t>(*std::exchange(w.moves_to, std::nullopt))]);
        add(core_of(w), w);
        dispatch(c, true);
        return false;
    }
    if (std::exchange(c.must_yield, false) && !c.gives_way) {
        w.deadline.reset();
        take_away(c);
        add(c, w);
        return false;
    }
    return true;
}

void shared_cores::use(model_worker& w, time_ns d) noexcept {
    one_core& c = core_of(w);
    w.core_time_left = d;
    if (w.moves_to || c.must_yield) {
        may_run(w);
    } else {
        w.core_time_ends = of_.resume_worker(w, d);
        w.core_time_until = of_.now() + d;
    }
    of_.suspend_worker(w); // until it has had that time
    w.core_time_ends.reset();
    w.core_time_left = 0;
}

bool shared_cores::has_alone(const model_worker& w) const noexcept {
    const one_core& c = core_of(w);
    return (c.waiting.empty() || !next_of(c)) && !c.must_yield && !w.moves_to;
}

void shared_cores::leave(model_worker& w) noexcept {
    one_core& c = core_of(w);
    count_time(c);
    c.running = nullptr;
    c.must_yield = false;
    w.on_core = core_state::asleep;
    if (c.gives_way) give_back(c);
    if (is_first(c, w)) schedule_turn(c);
    if (w.moves_to) move(w, cores_[static_cast<std::size_t>(*std::exchange(w.moves_to, std::nullopt))]);
    dispatch(c, true);
}

void shared_cores::place(model_worker& w, int core) noexcept {
    one_core& from = core_of(w);
    if (w.moves_to || core != w.core()) {
        w.moves_to.reset();
        one_core& to = cores_[static_cast<std::size_t>(core)];
        switch (w.on_core) {
        case core_state::asleep: move(w, to); break;
        case core_state::waiting:
            std::erase(from.waiting, &w);
            move(w, to);
            add(to, w);
            break;
        case core_state::running:
            if (&from == &to) break;
            if (!w.core_time_ends) { // in the middle of a transfer, or of a step of its program
                w.moves_to = core;
                break;
            }
            take_away(from);
            move(w, to);
            add(to, w);
            dispatch(from, true);
            break;
        }
    }
    review(core_of(w));
    review(from);
}

// ---- which worker runs

bool shared_cores::comes_before(const model_worker& a, const model_worker& b) noexcept {
    return a.core_time < b.core_time;
}

model_worker* shared_cores::next_of(const one_core& c) const noexcept {
    model_worker* best = nullptr;
    for (model_worker* const w : c.waiting)
        if (may_have(c, *w) && (!best || comes_before(*w, *best))) best = w;
    return best;
}

shared_cores::one_core* shared_cores::free_core() noexcept {
    const auto found = std::ranges::find_if(cores_, [](const one_core& c) { return !c.running; });
    return found == cores_.end() ? nullptr : &*found;
}

/// That for which most workers wait.
shared_cores::one_core& shared_cores::busiest_core() noexcept {
    return *std::ranges::max_element(cores_, {}, [](const one_core& c) { return c.waiting.size(); });
}

void shared_cores::wait_for_core(model_worker& w) noexcept {
    one_core* c = &core_of(w);
    if (balances && c->running)
        if (one_core* const other = free_core()) {
            c = other;
            move(w, *c);
        }
    // It has slept, so it comes before the others for a while, but not for all the time that it has not used.
    count_time(*c);
    w.core_time = std::max(w.core_time, c->least_time - latency_ / 2);
    add(*c, w);
}

/// It waits for a core from now on.
void shared_cores::stop(model_worker& w) noexcept {
    if (std::exchange(w.on_core, core_state::waiting) == core_state::waiting)
        return; // on another core before
    w.activity_on_core = w.times.current();
    w.model.set_activity(w, activity::waits_for_core);
}

void shared_cores::add(one_core& c, model_worker& w) noexcept {
    stop(w);
    c.waiting.push_back(&w);
    if (is_first(c, w)) first_wakes(c);
    if (c.running)
        review(c);
    else
        dispatch(c, false);
}

void shared_cores::count_time(one_core& c) noexcept {
    if (!c.running) return;
    c.running->core_time += of_.now() - c.since;
    c.since = of_.now();
    c.least_time = std::max(c.least_time, c.running->core_time);
    for (const model_worker* const w : c.waiting) c.least_time = std::min(c.least_time, w->core_time);
}

/// The core has no worker from now on. What the running one had left to do it does when it has a core again.
void shared_cores::take_away(one_core& c) noexcept {
    count_time(c);
    model_worker& w = *std::exchange(c.running, nullptr);
    c.must_yield = false;
    if (c.gives_way) give_back(c);
    if (w.core_time_ends) {
        of_.events.cancel(*std::exchange(w.core_time_ends, std::nullopt));
        w.core_time_left = std::max<time_ns>(w.core_time_until - of_.now(), 0);
    }
}

/// Its place among the workers of the other core is the one that it had.
void shared_cores::move(model_worker& w, one_core& to) noexcept {
    w.core_time += to.least_time - core_of(w).least_time;
    w.set_core(static_cast<int>(&to - cores_.data()));
}

void shared_cores::give(one_core& c, model_worker& w, bool is_switch) noexcept {
    std::erase(c.waiting, &w);
    c.running = &w;
    w.on_core = core_state::running;
    if (c.first && !is_first(c, w) && !c.is_lent)
        c.is_lent = c.gives_way = true; // until it has ended its task
    w.model.set_activity(w, w.activity_on_core);
    const time_ns begins = is_switch ? switch_ns_ : 0;
    c.since = of_.now();
    const auto resumes = of_.resume_worker(w, begins + w.core_time_left);
    if (w.core_time_left > 0) {
        w.core_time_ends = resumes;
        w.core_time_until = of_.now() + begins + w.core_time_left;
    }
    review(c);
}

void shared_cores::dispatch(one_core& c, bool is_switch) noexcept {
    if (c.running) return;
    if (c.slice_ends) of_.events.cancel(*std::exchange(c.slice_ends, std::nullopt));
    if (c.is_lent && first_waits(c) && !next_of(c)) give_back(c);
    if (model_worker* const w = next_of(c)) return give(c, *w, is_switch);
    if (!balances) return;
    one_core& other = busiest_core();
    model_worker* const w = next_of(other);
    if (!w) return;
    std::erase(other.waiting, w);
    move(*w, c);
    c.waiting.push_back(w);
    give(c, *w, true);
}

void shared_cores::review(one_core& c) noexcept {
    if (!c.running) return dispatch(c, true);
    const model_worker* const next = c.gives_way ? nullptr : next_of(c);
    if (!next) return;
    count_time(c);
    const model_worker& now = *c.running;
    if (now.core_time - next->core_time > wakes_before_) return interrupt(c);
    if (c.slice_ends) return;
    c.slice_ends = of_.events.push(
        of_.now() + slice_of(c),
        [](void* of) {
            auto& core = *static_cast<one_core*>(of);
            core.of->slice_is_over(core);
        },
        &c);
}

/// If there are n, each of them runs once in the latency.
time_ns shared_cores::slice_of(const one_core& c) const noexcept {
    return std::max(latency_ / static_cast<time_ns>(c.waiting.size() + 1), least_slice_);
}

void shared_cores::slice_is_over(one_core& c) noexcept {
    c.slice_ends.reset();
    if (!c.running) return;
    count_time(c);
    const model_worker* const next = c.gives_way ? nullptr : next_of(c);
    if (next && comes_before(*next, *c.running))
        interrupt(c);
    else
        review(c);
}

void shared_cores::interrupt(one_core& c) noexcept {
    model_worker& w = *c.running;
    if (!w.core_time_ends) {
        c.must_yield = true;
        return;
    }
    take_away(c);
    // The next one first: the worker waits behind it, whatever both have had.
    stop(w);
    dispatch(c, true);
    c.waiting.push_back(&w);
    review(c);
}

// ---- high priority

bool shared_cores::is_first(const one_core& c, const model_worker& w) noexcept { return c.first == &w.model; }

bool shared_cores::may_have(const one_core& c, const model_worker& w) noexcept {
    if (!c.first || is_first(c, w) != c.is_lent) return true;
    return !is_first(c, w) && w.activity_on_core < activity::search;
}

bool shared_cores::first_waits(const one_core& c) noexcept {
    return std::ranges::any_of(c.waiting, [&](const model_worker* w) { return is_first(c, *w); });
}

void shared_cores::favour(int core, const model_engine* e, time_ns hysteresis) noexcept {
    one_core& c = cores_[static_cast<std::size_t>(core)];
    cancel_turn(c);
    c.first = e;
    c.hysteresis = hysteresis;
    c.is_lent = c.gives_way = false;
    if (!e) return review(c);
    const bool waits = first_waits(c);
    if (c.running && !is_first(c, *c.running)) { // it was placed before, or had priority before
        c.is_lent = true;
        c.gives_way = waits;
    } else if (!c.running && !waits) {
        schedule_turn(c);
    }
    review(c);
}

/// The worker of high priority waits for the core from now on.
void shared_cores::first_wakes(one_core& c) noexcept {
    if (!c.is_lent)
        cancel_turn(c);
    else if (c.running)
        schedule_turn(c);
}

void shared_cores::schedule_turn(one_core& c) noexcept {
    if (c.turns) return;
    c.turns = of_.events.push(
        of_.now() + c.hysteresis,
        [](void* of) {
            auto& core = *static_cast<one_core*>(of);
            core.of->turn(core);
        },
        &c);
}

void shared_cores::cancel_turn(one_core& c) noexcept {
    if (c.turns) of_.events.cancel(*std::exchange(c.turns, std::nullopt));
}

void shared_cores::turn(one_core& c) noexcept {
    c.turns.reset();
    if (!c.is_lent) {
        c.is_lent = true;
        return dispatch(c, true);
    }
    if (c.running) c.gives_way = true;
}

/// Also while the worker of high priority sleeps: after the end of a task that another one had begun.
void shared_cores::give_back(one_core& c) noexcept {
    cancel_turn(c);
    c.is_lent = c.gives_way = false;
    if (!first_waits(c)) schedule_turn(c);
}

void shared_cores::give_way(model_worker& w) noexcept {
    one_core& c = core_of(w);
    take_away(c);
    stop(w);
    w.activity_on_core = activity::search; // it is in no task
    c.waiting.push_back(&w);
    dispatch(c, true);
    of_.suspend_worker(w); // until it has a core again
}

} // namespace weft::engine
