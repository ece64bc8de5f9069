#include "engine/run/cancellation.hpp"
#include "engine/run/default_engine.hpp"
#include "engine/run/group_count.hpp"
#include "engine/run/outside.hpp"
#include "engine/run/spawn.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"
#include "task/sanitizers.hpp"

#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

/// The children, waits and ends of groups.
namespace weft::engine {

namespace {

void sleep_in_group(worker& at, void* in, void* waiter) {
    auto& g = *static_cast<group*>(in);
    if (leave_to_children(g, reinterpret_cast<impl::waiter_word>(waiter)))
        at.resume_first = static_cast<task*>(waiter);
}

/// after_wait::requeue: the waiter continues only when the policy gives it to a worker, even if no child is
/// left.
void sleep_in_group_requeued(worker& at, void* in, void* waiter) {
    auto& g = *static_cast<group*>(in);
    if (leave_to_children(g, reinterpret_cast<impl::waiter_word>(waiter)))
        offer(at, *static_cast<task*>(waiter), ready_reason::joined);
}

/// Makes the caller the one waiter of the group. Throws weft::error if there is another.
void claim_wait(group& g) {
    if (g.flags_.fetch_or(group::flag_waiting, std::memory_order_relaxed) & group::flag_waiting)
        throw error("a task group can be waited for by one task at a time", "a second concurrent wait()",
                    "one wait() after the other");
}

/// Children are open, or another task waits. A waiter takes the group's own 1 out of open_, so open_ alone
/// does not tell.
bool is_open(const group& g) noexcept {
    return has_open_children(g) || (g.flags_.load(std::memory_order_relaxed) &
                                    group::flag_waiting); // set before a waiter's decrement
}

void wait_as_thread(group& g) {
    if (!is_open(g)) return;
    claim_wait(g);
    thread_waiter self;
    if (!leave_to_children(g, self.word())) {
        // A runtime that the program destroys could be gone before the thread has left it; the default one stays.
        if (g.flags_.load(std::memory_order_relaxed) & group::flag_outside)
            default_engine().host.wait_outside(self, nullptr);
        else
            self.wait();
    }
    reopen(g);
    g.flags_.fetch_and(~group::flag_waiting, std::memory_order_relaxed);
}

void wait_as_worker(group& g) {
    worker& w = enter_runtime();
    task& me = *w.current->running;
    charge(w, operation::wait);
    note(w, trace::kind::wait, me.number_, reinterpret_cast<std::uint64_t>(&g));
    after_wait then = after_wait::stay;
    if (g.flags_.load(std::memory_order_relaxed) & group::flag_begun)
        then = w.arena().scheduler->group_wait(w.local, me, g);
    if (is_open(g)) {
        try {
            claim_wait(g);
        } catch (...) {
            leave_runtime();
            throw;
        }
        g.waiter_home_ = &w.engine;
        if (me.silent_) expose_all(w);
        if (w.slow) [[unlikely]]
            w.meter.waits_for(w, "the children of its group", &g);
        // If the group is apart, the task waits for a future, a graph or another runtime, and not for its own
        // children.
        suspend(w, g.apart_ ? ready_reason::unblocked : ready_reason::joined,
                then == after_wait::requeue ? sleep_in_group_requeued : sleep_in_group, &g, &me);
        reopen(g);
        g.flags_.fetch_and(~group::flag_waiting, std::memory_order_relaxed);
    } else if (then == after_wait::requeue) {
        suspend(
            w, ready_reason::moved,
            [](worker& at, void* t, void*) { offer(at, *static_cast<task*>(t), ready_reason::moved); }, &me,
            nullptr);
    }
    end_reported_group(*impl::hot_self(), g);
    note(*impl::hot_self(), trace::kind::waited, me.number_, reinterpret_cast<std::uint64_t>(&g));
    leave_runtime();
}

} // namespace

void run_from_outside(engine& e, task& root, trace::code_address code) {
    group& g = *root.group_;
    number_root(e, root, code);
    thread_waiter self;
    static_cast<void>(leave_to_children(g, self.word())); // the root is open
    e.host.wait_outside(self, &root);
    reopen(g);
}

void wait_until_done(group& g) {
    if (g.flags_.load(std::memory_order_relaxed) & group::flag_traced) [[unlikely]] {
        g.flags_.fetch_and(~group::flag_traced, std::memory_order_relaxed);
        if (worker* const w = impl::hot_self(); w && g.is_settled()) { // only the trace needs this call
            const auto me = running_task().number_;
            note_in_user_code(*w, trace::kind::wait, me, reinterpret_cast<std::uint64_t>(&g));
            return note_in_user_code(*w, trace::kind::waited, me, reinterpret_cast<std::uint64_t>(&g));
        }
    }
    if (impl::hot_self()) {
        wait_as_worker(g);
    } else {
        wait_as_thread(g);
    }
}

} // namespace weft::engine

namespace weft::impl {

using engine::enter_runtime;
using engine::leave_runtime;

group* group_of_task() noexcept { return hot_self() ? engine::running_task().scope_ : nullptr; }

void cancel(group& g) noexcept {
    if (!(g.flags_.fetch_or(group::flag_cancelled, std::memory_order_relaxed) & group::flag_cancelled))
        engine::cancelled_groups.fetch_add(1, std::memory_order_relaxed);
}

bool is_cancelled(const group* g) noexcept { return engine::is_cancelled(g); }

bool run_silently(group& g, const hints& h, void (*body)(void*), void* source) {
    if (!hot_self()) return false;
    hot_enter_runtime(); // the fibers are the worker's; the meter is told when the child is known to be silent
    worker* const w = hot_self();
    const task& me = *w->current->running;
    if (!me.silent_ || engine::queues_child(*w, me, g)) {
        engine::leave_untold();
        return false;
    }
    fiber& child = engine::take_fiber_untold(*w);
    if (w->observed) [[unlikely]]
        w->meter.user_code_ends(*w);
    engine::charge(*w, engine::operation::spawn);
    task& as = child.own.record;
    as.parent_ = me.parent_;
    as.scope_ = &g;
    as.claim_ = me.claim_;
    as.level_ = me.level_;
    as.root_ = me.root_;
    as.preempt_ = me.preempt_;
    if (w->log) [[unlikely]] {
        as.hint_ = h;
        if (!(g.flags_.fetch_or(group::flag_traced, std::memory_order_relaxed) & group::flag_traced))
            engine::note_group(*w, g);
        engine::note_spawn(*w->log, as, trace::origin::child, reinterpret_cast<std::uint64_t>(&g),
                           trace::address_of(body));
        engine::note_what(*w, trace::kind::begin, as, trace::start::below);
    }
    if (const std::size_t bytes = w->engine.need.task_bytes)
        sanitizer::copy_unseen(child.own.bytes, &me + 1, bytes);
    engine::run_below(*w, g, child, as, body, source);
    if (std::exception_ptr& refused = hot_self()->refused; refused) [[unlikely]] {
        const std::exception_ptr error = std::exchange(refused, nullptr);
        leave_runtime();
        std::rethrow_exception(error);
    }
    leave_runtime();
    return true;
}

void child_started() noexcept {
    hot_enter_runtime(); // again: the move of the closure may have left it
    hot_self()->current->child_has_started = true;
    leave_runtime();
}

child_record begin_child(std::size_t bytes, std::size_t align) {
    engine::engine& home = hot_self() ? hot_self()->engine : engine::default_engine();
    const tick_hold here; // the blocks are the worker's
    task& t = engine::make_task(hot_self(), home, bytes, align);
    return {&t, t.closure_};
}

void discard_child(child_record c) noexcept {
    const tick_hold here;
    engine::free_task(hot_self(), *c.record);
}

void commit_child(group& g, child_record s, const hints& h, void (*run)(void*),
                  void (*drop)(void*) noexcept) {
    task& t = *s.record;
    t.call_ = run;
    t.drop_ = drop;
    t.hint_ = h;
    worker* const here = hot_self();
    if (!here && !g.apart_) return engine::add_from_outside(engine::default_engine(), g, t);
    if (!here) {
        engine::adopt(t, nullptr, &g, h);
        g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
        g.flags_.fetch_or(group::flag_outside, std::memory_order_relaxed);
        return engine::submit_root(engine::default_engine(), t, trace::address_of(run));
    }
    if (!g.apart_) return engine::spawn_record(g, t);
    worker& w = enter_runtime();
    if (task& me = *w.current->running; me.silent_) {
        engine::adopt(t, &me, &g, h);
        t.parent_ = nullptr; // which it may outlive
        engine::execute_spawn(w, g, t, spawn_order::parent_first);
        return leave_runtime();
    }
    engine::adopt(t, nullptr, &g, h);
    if (h.preempt == preemption::runtime_default) t.preempt_ = w.current->running->preempt_;
    g.open_.fetch_add(1, std::memory_order_relaxed); // as above
    if (w.arena().is_team()) w.arena().retain();
    engine::submit_root(w.engine, t, trace::address_of(run));
    leave_runtime();
}

void wait_group(group& g) {
    engine::wait_until_done(g);
    if (g.flags_.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    engine::take_flags(g);
    if (g.error_) std::rethrow_exception(std::exchange(g.error_, nullptr));
}

void end_group(group& g) noexcept {
    engine::wait_until_done(g);
    engine::take_flags(g);
    if (!g.error_) return;
    if (inside_mark::exceptions_here() > 0) return count_suppressed();
    std::fputs("weft: a task group was destroyed with an exception that no wait() took\n", stderr);
    try {
        std::rethrow_exception(std::exchange(g.error_, nullptr)); // so that the terminate handler can name it
    } catch (...) { std::terminate(); }
}

} // namespace weft::impl
