#include "engine/run/switch.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/meter.hpp"
#include "engine/run/cancellation.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/admission.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/independent_tasks.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/offers_ahead.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "queue/spin_wait.hpp"

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>

namespace weft::impl {
extern "C" {
thread_local constinit hot_words weft_hot{};
}

#ifndef WEFT_TLS_BY_OFFSET
[[gnu::noinline]] bool at_limit(const void* f) noexcept {
    return reinterpret_cast<std::uintptr_t>(f) >= weft_hot.limit.load(std::memory_order_relaxed);
}
[[gnu::noinline]] frame* hot_head() noexcept { return weft_hot.head; }
[[gnu::noinline]] void set_hot_head(frame* head) noexcept { weft_hot.head = head; }
[[gnu::noinline]] worker* hot_self() noexcept { return weft_hot.self; }
[[gnu::noinline]] void hot_enter_runtime() noexcept {
    weft_hot.in_runtime.store(true, std::memory_order_relaxed);
}
[[gnu::noinline]] void hot_leave_runtime() noexcept {
    weft_hot.in_runtime.store(false, std::memory_order_relaxed);
}
[[gnu::noinline]] bool hot_signalled() noexcept { return weft_hot.signalled.load(std::memory_order_relaxed); }
// In the section of the tick's handler (is_in_tick_handler).
[[gnu::noinline, gnu::section("weft_tick")]] void hot_hold() noexcept {
    weft_hot.holds.fetch_add(1, std::memory_order_relaxed);
}
[[gnu::noinline, gnu::section("weft_tick")]] void hot_unhold() noexcept {
    weft_hot.holds.fetch_sub(1, std::memory_order_relaxed);
}
#endif

static_assert(offsetof(hot_words, limit) == 0 && offsetof(hot_words, head) == 8 &&
              offsetof(hot_words, self) == 16 && offsetof(hot_words, in_runtime) == 24 &&
              offsetof(hot_words, signalled) == 25 && offsetof(hot_words, holds) == 26);

} // namespace weft::impl

namespace weft::engine {

namespace {

/// The scheduler's fiber for a task that waits. The reserve has one for each worker, so the task waits even if memory is
/// short, and usually the scheduler soon resumes a task and gives the fiber back. Then the next spawn, which needs a
/// fiber to keep, reports the shortage as an exception. A worker takes one of the reserve only: another task that starts
/// on that fiber (starts_on_reserve), and has to wait itself, waits for the memory of others.
fiber& take_fiber_to_wait(worker& w) noexcept {
    constexpr int most_looks = 2000;
    constexpr std::chrono::milliseconds between_looks{1};
    for (int looks = 0;; ++looks) {
        try {
            return take_fiber(w);
        } catch (const std::exception& e) {
            if (fiber* const f = w.has_reserve_fiber ? nullptr : w.engine.fibers.take_reserved()) {
                w.has_reserve_fiber = true;
                w.put_back = 0;
                return *f;
            }
            if (looks == most_looks || w.modelled) { // all workers of the model are this thread
                std::fprintf(stderr, "weft: a waiting task cannot be suspended: %s\n", e.what());
                std::abort();
            }
        }
        std::this_thread::sleep_for(between_looks);
    }
}

/// Inlined into the base of the fiber, so that the fiber leaves and arrives at the same depth of calls.
[[gnu::always_inline]] inline void run_child(fiber& self) {
    group& in = *self.parent_continuation.in;
    std::exception_ptr error;
    if (!is_cancelled(self.running->scope_)) [[likely]] {
        // The move of the closure may wait for a lock, which a preempted task holds (Y5).
        if (self.running->preempt_ != preemption::off) [[unlikely]]
            leave_runtime();
        try {
            self.child_body(self.child_source);
        } catch (...) { error = std::current_exception(); }
    } else if (task* t = self.running; t != &self.own.record && t->drop_) {
        leave_runtime();
        t->drop_(t->closure_);
    }
    if (error && self.child_has_started) [[unlikely]]
        fail(in, std::exchange(error, nullptr));
    worker& w = enter_runtime();
    if (error) [[unlikely]]
        w.refused = std::move(error);
    note_what(w, trace::kind::end, *self.running,
              self.child_has_started ? trace::outcome::done : trace::outcome::cancelled);
    if (self.running != &self.own.record) [[unlikely]]
        retire(w, *self.running, !self.child_has_started);
    self.running = nullptr;

    continuation& k = self.parent_continuation;
    fiber& parent = *k.parent;
    bool mine = k.thief == continuation::unexposed;
    // A task whose rest was handed over is the oldest of its chain, so its parent's rest was handed over before.
    if (!mine) self.own.record.handovers_ = 0;
    if (!mine && k.thief >= 0 && w.host.reclaim(w, k)) {
        note(w, trace::kind::returned, number_of(k));
        // The parent is below this fiber again, with all its older entries exposed.
        // relaxed: this worker counted the child when it exposed this entry
        in.open_.fetch_sub(1, std::memory_order_relaxed);
        child_settled(w);
        if (w.arena().is_team()) [[unlikely]]
            w.arena().cancel_retain();
        parent.running->state_ = task_state::running;
        k.thief = continuation::unexposed;
        w.oldest = &parent;
        mine = true;
    }
    if (mine) {
        // The parent is charged for what a silent child used.
        if (w.times_tasks) parent.running->self_ns_ += std::exchange(self.own.record.self_ns_, 0);
        if (w.counts_misses) parent.running->counts_ += std::exchange(self.own.record.counts_, {});
        if (w.oldest == &self) w.oldest = &parent;
        leave_for_good(w, parent);
        return;
    }
    // The thief has taken the entry, which lies in this fiber, and may not have read it yet.
    for (queue::spin_wait<> wait; !k.read.load(std::memory_order_acquire);) // pairs with task_of_frame
        wait.once();
    k.read.store(false, std::memory_order_relaxed); // published with the next entry
    k.thief = continuation::unexposed;
    self.become_scheduler();
    child_settled(w);
    child_done(&w, in);
    if (w.arena().is_team()) [[unlikely]]
        release_team(w, w.arena());
}

} // namespace

void fiber_entry(arrival at) noexcept {
    // The first arrival: the switch has made this fiber the current one.
    fiber* self = impl::hot_self()->current;
    if constexpr (sanitizer::is_instrumented)
        if (sanitizer::has_tsan()) sanitizer::deliver_signals();
    arrived(*self, at);
    for (;;) {
        if (self->has_child)
            run_child(*self);
        else
            impl::hot_self()->host.schedule();
    }
}

fiber& take_mapped_fiber_untold(worker& w) {
    try {
        return *w.engine.fibers.take();
    } catch (...) {
        leave_untold();
        throw;
    }
}

bool starts_on_reserve(worker& w, task& t) noexcept {
    try {
        w.engine.fibers.give_reserved(&take_fiber(w));
        w.has_reserve_fiber = false;
        return true;
    } catch (const std::exception&) {} // memory is still short
    constexpr std::chrono::microseconds pause{50};
    constexpr int most_put_back = 20'000;         // a second, unless others run their tasks meanwhile
    const bool is_placed = t.claims_ || t.share_; // the gate or a team has given it this worker
    if (w.modelled || is_placed || w.put_back == most_put_back) return true;
    ++w.put_back;
    offer(w, t, ready_reason::yielded);
    std::this_thread::sleep_for(pause);
    return false;
}

void suspend(worker& w0, ready_reason reason, void (*action)(worker&, void*, void*), void* a,
             void* b) noexcept {
    fiber& self = *w0.current;
    fiber& next = take_fiber_to_wait(w0);
    task& t = *self.running;
    begin_suspension(w0, self, reason);
    next.become_scheduler();
    switch_to(w0, next, {action, a, b});
    end_suspension(t);
}

void begin_suspension(worker& w, fiber& self, ready_reason reason) noexcept {
    task& t = *self.running;
    t.fiber_ = &self;
    t.arena_ = &w.arena();
    t.state_ = task_state::suspended;
    w.count.suspensions.add();
    note_what(w, trace::kind::suspend, t, reason);
    if (w.slow) [[unlikely]] {
        w.meter.charge(w, operation::suspend);
        w.meter.waits(w, t, reason);
    }
    if (t.claims_) [[unlikely]]
        pause_claim(w, t);
    w.arena().scheduler->blocked(w.local, t, reason);
}

void end_suspension(task& t) noexcept {
    t.state_ = task_state::running;
    worker& w = *impl::hot_self();
    w.arena().scheduler->resumed(w.local, t);
    if (w.slow) [[unlikely]]
        w.meter.resumed(w, t);
}

void resume(worker& w, task& t) noexcept {
    count_bulk_down_unless_of(w, t.group_);
    count_if_offered_ahead(w, t);
    fiber& to = *t.fiber_;
    fiber* next = &to;
    t.state_ = task_state::running;
    if (t.preempt_ != preemption::off || w.ticks.load(std::memory_order_relaxed)) [[unlikely]] {
        w.host.preemptible_runs(w, t);
        if (t.stopped_with_) next = &w.host.leave_for_thread_of(w, t);
    }
    note(w, trace::kind::resume, t.number_);
    w.oldest = &to;
    // A child that blocked while it moved its closure still has its parent below it.
    for (fiber* x = &to; x->has_child && x->parent_continuation.thief == continuation::unexposed;
         x = w.oldest)
        w.oldest = x->parent_continuation.parent;
    if (std::exchange(w.has_reserve_fiber, false)) [[unlikely]]
        return switch_to(
            w, *next,
            {[](worker& at, void* f, void*) { at.engine.fibers.give_reserved(static_cast<fiber*>(f)); },
             w.current, nullptr});
    leave_for_good(w, *next);
}

} // namespace weft::engine
