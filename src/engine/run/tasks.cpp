#include "engine/run/tasks.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/observation.hpp"
#include "engine/run/cancellation.hpp"
#include "engine/run/completion.hpp"
#include "engine/run/group_count.hpp"
#include "engine/run/skipped_forks.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/independent_tasks.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/offers_ahead.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"

namespace weft::engine {

namespace {

trace::outcome outcome_of(const std::exception_ptr& error, bool cancelled) noexcept {
    return cancelled ? trace::outcome::cancelled : error ? trace::outcome::threw : trace::outcome::done;
}

void run_body(task& t, bool cancelled, std::exception_ptr& error) {
    if (cancelled) {
        if (t.drop_) t.drop_(t.closure_);
        return;
    }
    try {
        t.call_(t.closure_);
    } catch (...) { error = std::current_exception(); }
}

/// The body of a task that is the running one of `self`; then `next` is the running one again.
[[gnu::always_inline]] inline void run_to_the_end(worker& w0, task& t, fiber& self, task* next) {
    const bool cancelled = is_cancelled(t.scope_);
    if (!cancelled) w0.arena().scheduler->started(w0.local, t);
    if (w0.times_tasks) t.birth_ns_ = w0.host.now();
    leave_runtime();
    std::exception_ptr error;
    run_body(t, cancelled, error);
    const trace::outcome how = outcome_of(error, cancelled);
    if (error) [[unlikely]]
        fail(*t.group_, std::move(error));
    worker& w = enter_runtime();
    self.running = next;
    note_what(w, trace::kind::end, t, how);
    finish(w, t, cancelled);
}

} // namespace

void start(worker& w0, task& t) {
    fiber& self = *w0.current;
    count_bulk_down_unless_of(w0, t.group_);
    self.modes.update();
    w0.engine.modes.replace(self.modes);
    self.modes = w0.engine.modes;
    self.reset_chain();
    w0.oldest = &self;
    impl::set_hot_head(&self.root);
    self.running = &t;
    t.state_ = task_state::running;
    w0.count.tasks.add();
    if (std::exchange(t.queued_, false)) w0.count.begun.add();
    count_if_offered_ahead(w0, t);
    charge(w0, operation::start);
    if (t.preempt_ != preemption::off || w0.ticks.load(std::memory_order_relaxed)) [[unlikely]]
        w0.host.preemptible_runs(w0, t);

    note_what(w0, trace::kind::begin, t, trace::start::fresh);

    if (t.frame_) {
        impl::frame& f = *t.frame_;
        w0.arena().scheduler->started(w0.local, t);
        if (w0.times_tasks) t.birth_ns_ = w0.host.now();
        leave_runtime();
        const bool ok = f.run(&f);
        worker& w = enter_runtime();
        self.running = nullptr;
        note_what(w, trace::kind::end, t, ok ? trace::outcome::done : trace::outcome::threw);
        retire(w, t, false);
        if (const auto waiter = completion_of(f).finish(!ok)) // `f` is dead from here on
            offer(w, *reinterpret_cast<task*>(waiter), ready_reason::joined);
        return;
    }

    run_to_the_end(w0, t, self, nullptr);
}

void call(worker& w0, task& t, bool silent) {
    fiber& self = *w0.current;
    task* parent = self.running;
    self.running = &t;
    t.state_ = task_state::running;
    t.silent_ = silent;
    w0.count.tasks.add();
    note_what(w0, trace::kind::begin, t, trace::start::below);
    run_to_the_end(w0, t, self, parent);
}

void retire(worker& w, task& t, bool cancelled) noexcept {
    usage used;
    used.cancelled = cancelled;
    if (w.times_tasks) {
        used.self = t.self_ns_;
        used.wall = w.host.now() - t.birth_ns_;
    }
    if (w.counts_misses) {
        used.misses = t.counts_.misses;
        if (w.meter.instructions_from != count_source::unknown) used.instructions = t.counts_.instructions;
    }
    w.arena().scheduler->finished(w.local, t, used);
    if (t.is_root_ || t.prolongs_run_) [[unlikely]]
        w.engine.observation.root_ended(w);
    free_task(&w, t);
}

void finish(worker& w, task& t, bool cancelled) noexcept {
    group* in = t.group_;
    arena& of = *t.arena_;
    const bool in_bulk = t.of_wide_group_ && !in->apart_;
    retire(w, t, cancelled);
    if (in_bulk) {
        count_bulk_down_unless_of(w, in);
        w.bulk_group = in;
        ++w.bulk_ended;
    } else if (in) {
        child_done(&w, *in);
    }
    if (of.is_team()) [[unlikely]]
        release_team(w, of);
}

void wake_waiter(worker* w, group& g) noexcept {
    // relaxed: ordered by the decrement that reached 0 (G2)
    const auto word = g.waiter_.load(std::memory_order_relaxed);
    if (word & 1) return thread_waiter_of(word).wake();
    task& t = *reinterpret_cast<task*>(word);
    engine& home = *static_cast<engine*>(g.waiter_home_);
    if (w && &w->engine == &home)
        offer(*w, t, ready_reason::joined);
    else
        home.host.submit(t, ready_reason::unblocked);
}

void child_done(worker* w, group& g) noexcept {
    if (count_children_down(g, 1)) wake_waiter(w, g);
}

void count_bulk_down(worker& w) noexcept {
    if (group* const g = std::exchange(w.bulk_group, nullptr))
        if (count_children_down(*g, std::exchange(w.bulk_ended, 0))) wake_waiter(&w, *g);
}

void fail(group& g, std::exception_ptr error) noexcept {
    // relaxed: error_ is published by the decrement of the child that wrote it (G3)
    if (g.flags_.fetch_or(group::flag_failed, std::memory_order_relaxed) & group::flag_failed)
        return impl::count_suppressed();
    g.error_ = std::move(error);
}

void expose_to_all(worker& w, fiber& x, impl::frame& entry, std::int16_t ahead_by) {
    entry.thief = not_reclaimable;
    task* t = nullptr;
    if (entry.run) {
        entry.of = x.running;
        entry.bytes = x.running + 1;  // read by the next line
        t = &task_of_frame(w, entry); // if it throws, the entry is still hidden
        begin_completion(entry);
        x.split = &entry;
    } else {
        group& in = *static_cast<continuation&>(entry).in;
        in.open_.fetch_add(1, std::memory_order_relaxed); // from now on the child above counts
        child_detached(w);
        if (w.arena().is_team()) [[unlikely]]
            w.arena().retain();
        w.oldest = x.above;
    }
    note(w, trace::kind::expose, number_of(entry), 0, trace::no_worker);
    w.count.exposures.add();
    const auto reason = entry.run ? ready_reason::exposed : ready_reason::continuation;
    if (!entry.run) t = &task_of_frame(w, entry); // the entry may be gone from here on
    t->offered_by_ = ahead_by;
    offer(w, *t, reason);
}

void expose_all(worker& w) {
    stop_skipping(w);
    fiber* const top = w.current;
    for (fiber *x = w.oldest, *next = nullptr;; x = next) {
        for (impl::frame* f = x->split->next; f && has_number(w, *x, *f); f = x->split->next)
            expose_to_all(w, *x, *f, -1);
        if (x == top) return;
        next = x->above; // once x is offered, it may run on another worker
        // A child that is blocked in the move of its closure needs the parent's frame.
        if (next->child_has_started) expose_to_all(w, *x, next->parent_continuation, -1);
    }
}

} // namespace weft::engine
