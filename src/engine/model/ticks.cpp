#include "engine/idle/collect.hpp"
#include "engine/model/model_engine.hpp"
#include "engine/model/virtual_clock.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/message.hpp"
#include "engine/worker/offer.hpp"

#include <algorithm>
#include <new>
#include <utility>

/// Ticks in virtual time: those by which tasks are preempted, and those that a policy asks for. And the number of active
/// workers, since a worker that is made inactive stops at its tick.
namespace weft::engine {

// ---- preemption

void model_engine::preemptible_runs(worker& w, const task& t) noexcept {
    if (t.preempt_ != preemption::off) static_cast<model_worker&>(w).ticked = now();
}

time_ns model_engine::next_tick(const model_worker& w) const noexcept {
    const task* const t = w.current->running;
    return t && t->preempt_ != preemption::off ? plan.first_after(w.id, w.ticked) : end_of_time;
}

model_worker& model_engine::handle_tick(model_worker& w) noexcept {
    const double handler = plan.interrupt_ns(w.id, [&](worker_id v) {
        const model_worker& other = *all_workers[static_cast<std::size_t>(v)];
        const task* const t = other.working ? other.current->running : nullptr;
        return t && t->preempt_ != preemption::off;
    });
    do_work(w, handler, work_kind::general, activity::overhead);
    w.ticked = now(); // a tick that comes while the handler runs is lost
    return may_preempt(w) ? preempt(w) : w;
}

/// As preempter::may_preempt() of the other engine.
bool model_engine::may_preempt(model_worker& w) const noexcept {
    const fiber& f = *w.current;
    const task& t = *f.running;
    return f.guards == 0 && !t.claims_ && !t.share_ && !w.has_reserve_fiber && !fibers.is_short() &&
           makes_room(w, t);
}

model_worker& model_engine::preempt(model_worker& w) noexcept {
    task& t = *w.current->running;
    do_work(w, plan.switch_ns(t.preempt_), work_kind::general, activity::overhead);
    if (t.silent_) try {
            expose_all(w);
        } catch (const std::bad_alloc&) { return w; }
    const double computed = std::exchange(w.computed_ns, 0);
    suspend(
        w, ready_reason::preempted,
        [](worker& at, void* what, void*) { offer(at, *static_cast<task*>(what), ready_reason::preempted); },
        &t, nullptr);
    auto& here = static_cast<model_worker&>(*impl::hot_self());
    here.computed_ns = computed;
    flush_charges(here, activity::overhead);
    return here;
}

// ---- ticks of the policy

void model_engine::begin_ticking() {
    if (need.tick <= 0 || policy_ticks || working_count == 0) return;
    policy_ticks = true;
    sim->events.push((now() / need.tick + 1) * need.tick,
                     [](void* e) { static_cast<model_engine*>(e)->tick_policy(); }, this);
}

void model_engine::tick_policy() {
    policy_ticks = false;
    if (working_count == 0) return; // it would tick on for ever
    outermost.scheduler->tick(now());
    begin_ticking();
}

// ---- active workers

void model_engine::wait_inactive(model_worker& w) {
    w.count.asleep.begin(now());
    sleep_protocol_of(w.arena())->wait_inactive(w.local, [&] {
        if (has_messages(w)) read_messages(w); // tasks that come to it are found by others (S5)
        return is_called(w) || has_home_tasks(w) || has_share(w) || gate.has_bound_for(w.core(), &w.arena());
    });
    w.count.asleep.end(now());
}

void model_engine::resize(int count) {
    count = std::clamp(count, 1, worker_count());
    if (!need.resizable || count == outermost.active().last) return;
    sleep_protocol_of(outermost)->resize(count, [&] { outermost.scheduler->resized({0, count}); });
}

void model_engine::set_active(int count) {
    if (sim->runs_here()) return resize(count);
    sim->when_quiet([&] { resize(count); });
}

} // namespace weft::engine
