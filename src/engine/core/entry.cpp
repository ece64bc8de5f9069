#include <weft/impl/entry.hpp>

#include "engine/core/completion.hpp"
#include "engine/core/default_engine.hpp"
#include "engine/core/switch.hpp"
#include "engine/core/thread_waiter.hpp"

#include <weft/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace weft::impl {

using engine::adopt;
using engine::begin_completion;
using engine::completion;
using engine::completion_of;
using engine::enter_runtime;
using engine::leave_runtime;

zone slow_push(frame* parent, frame* f) noexcept {
    worker* w = hot_self();
    if (!w) return zone::outside;
    if (!w->current->running->silent_) return zone::reported;
    enter_runtime();
    // Linked here already, so that it can be handed out at once if all older entries are; the caller links it
    // again.
    f->next = nullptr;
    parent->next = f;
    leave_runtime();
    return zone::silent;
}

namespace {

/// The youngest exposed frame of the fiber ends. Returns how.
outcome join_exposed(worker& w, frame* parent, frame* f) noexcept {
    w.current->split = parent;
    if (f->thief >= 0 && w.eng.take_back(w, *f)) return outcome::not_run;
    auto& done = completion_of(*f);
    if (done.poll() == completion<>::running) {
        task* waiter = w.current->running;
        engine::suspend(
            w, why::joined,
            [](worker& at, void* c, void* t) {
                if (!static_cast<completion<>*>(c)->wait(reinterpret_cast<std::uintptr_t>(t)))
                    at.resume_first = static_cast<task*>(t);
            },
            &done, waiter);
    }
    return done.poll() == completion<>::failed ? outcome::failed : outcome::value;
}

} // namespace

outcome slow_pop(frame* parent, frame* f) noexcept {
    worker& w = enter_runtime();
    outcome how = outcome::not_run;
    // Only frames at or above `split` are exposed, and the frame that ends is the youngest of all.
    if (f == w.current->split) how = join_exposed(w, parent, f);
    leave_runtime();
    return how;
}

outcome abandon(frame* parent, frame* f) noexcept {
    parent->next = nullptr;
    return slow_pop(parent, f);
}

// ---- reported zone

namespace {

/// The record of a child in the reported zone, and what the policy says of it.
struct reported_child {
    task& t;
    order how;
};

void begin_group(worker& w, group& g, task& owner) {
    if (g.flags_.load(std::memory_order_relaxed) & group::flag_begun) return;
    g.flags_.fetch_or(group::flag_begun, std::memory_order_relaxed);
    g.owner_ = &owner;
    g.id_ = owner.id_ + g.spawned_;
    if (const std::size_t bytes = w.eng.need.group_bytes) {
        std::size_t block = bytes;
        g.data_ = w.blocks.take(block);
        std::memset(g.data_, 0, bytes);
    }
    w.eng.scheduler->group_begin(w.id, owner, g);
}

void end_reported_group(worker& w, group& g) noexcept {
    if (!(g.flags_.load(std::memory_order_relaxed) & group::flag_begun)) return;
    g.flags_.fetch_and(~group::flag_begun, std::memory_order_relaxed);
    w.eng.scheduler->group_end(w.id, *g.owner_, g);
    if (g.data_) {
        w.blocks.give(g.data_, (w.eng.need.group_bytes + engine::block_cache::unit - 1) /
                                   engine::block_cache::unit * engine::block_cache::unit);
        g.data_ = nullptr;
    }
}

/// Puts the parent's fiber aside and runs the child on a fresh one, at once; the parent is offered from
/// there.
void run_child_first(worker& w, task& parent, task& child, fiber& on) noexcept {
    fiber& self = *w.current;
    parent.fiber_ = &self;
    parent.state_ = task_state::suspended;
    on.reset_chain();
    on.has_child = false;
    on.first = &child;
    engine::switch_to(
        w, on,
        {[](worker& at, void* p, void*) { engine::offer(at, *static_cast<task*>(p), why::continuation); },
         &parent, nullptr});
    parent.state_ = task_state::running;
}

/// Silent zone, or a spawn that the policy wants silent: the child runs at once on a stack of its own, and
/// the parent's fiber stays below it as an entry that can be exposed. Returns when the parent goes on,
/// wherever that is.
[[gnu::always_inline]] inline void run_below(worker& w, group& g, fiber& child, task& as, void (*body)(void*),
                                             void* source, std::exception_ptr& refused) noexcept {
    fiber& self = *w.current;
    child.child_refused = &refused;
    self.above = &child;
    continuation& k = child.parent_goes_on;
    k.run = nullptr;
    k.thief = continuation::unexposed;
    k.parent = &self;
    k.in = &g;
    child.reset_chain();
    child.running = &as;
    child.has_child = true;
    child.child_has_started = false;
    child.child_body = body;
    child.child_source = source;
    engine::switch_to(w, child, {});
}

void run_record(void* record) {
    task& t = *static_cast<task*>(record);
    child_started();
    t.call_(t.closure_);
}

/// The current task spawns `t`, which adopt() has made its child, as `how` says.
void carry_out(worker& w, group& g, task& t, order how) {
    task& parent = *w.current->running;
    if (how == order::child_first || how == order::lazy) {
        fiber* on = nullptr;
        try {
            on = &engine::take_fiber(w);
        } catch (const error&) {
            if (!w.eng.need.demotable) {
                engine::free_task(&w, t);
                throw;
            }
            how = order::call;
        }
        if (how == order::child_first) {
            g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
            return run_child_first(w, parent, t, *on);
        }
        if (how == order::lazy) {
            t.silent_ = true;
            w.count.tasks.add();
            w.eng.scheduler->started(w.id, t);
            t.state_ = task_state::running;
            std::exception_ptr never; // its closure is in place
            return run_below(w, g, *on, t, run_record, &t, never);
        }
    }
    g.open_.fetch_add(1, std::memory_order_relaxed); // as above
    if (how == order::parent_first) return engine::offer(w, t, why::spawned);
    engine::call(w, t, false);
}

} // namespace

namespace {

void sleep_in_group(worker& at, void* in, void* waiter) {
    auto& g = *static_cast<group*>(in);
    g.waiter_.store(reinterpret_cast<waiter_word>(waiter),
                    std::memory_order_relaxed); // published by the next line (G2)
    if (g.open_.fetch_sub(1, std::memory_order_acq_rel) == 1) at.resume_first = static_cast<task*>(waiter);
}

/// The caller is to wait, and is the first. Throws if it is not.
void claim_wait(group& g) {
    if (g.flags_.fetch_or(group::flag_waiting, std::memory_order_relaxed) & group::flag_waiting)
        throw error("a task group can be waited for by one task at a time", "a second concurrent wait()",
                    "one wait() after the other");
}

/// Children are open, or somebody waits (who took back the group's own 1, so that open_ alone does not tell).
bool is_open(const group& g) noexcept {
    const bool open =
        g.open_.load(std::memory_order_acquire) != 1; // pairs with the last child's decrement (G3)
    return open || (g.flags_.load(std::memory_order_relaxed) &
                    group::flag_waiting); // set before a waiter's decrement
}

void wait_as_thread(group& g) {
    if (!is_open(g)) return;
    claim_wait(g);
    engine::thread_waiter self;
    g.waiter_.store(self.word(), std::memory_order_relaxed); // published by the next line (G2)
    if (g.open_.fetch_sub(1, std::memory_order_acq_rel) != 1) self.wait();
    g.open_.store(1, std::memory_order_relaxed); // nobody else is left
    g.flags_.fetch_and(~group::flag_waiting, std::memory_order_relaxed);
}

void wait_as_worker(group& g) {
    worker& w = enter_runtime();
    task& me = *w.current->running;
    after then = after::stay;
    if (g.flags_.load(std::memory_order_relaxed) & group::flag_begun)
        then = w.eng.scheduler->group_wait(w.id, me, g);
    if (is_open(g)) {
        try {
            claim_wait(g);
        } catch (...) {
            leave_runtime();
            throw;
        }
        g.waiter_home_ = &w.eng;
        if (me.silent_) engine::expose_all(w);
        engine::suspend(w, why::joined, sleep_in_group, &g, &me);
        g.open_.store(1, std::memory_order_relaxed); // nobody else is left
        g.flags_.fetch_and(~group::flag_waiting, std::memory_order_relaxed);
    } else if (then == after::requeue) {
        engine::suspend(
            w, why::moved,
            [](worker& at, void* t, void*) { engine::offer(at, *static_cast<task*>(t), why::moved); }, &me,
            nullptr);
    }
    end_reported_group(*hot_self(), g);
    leave_runtime();
}

void wait_until_done(group& g) {
    if (hot_self()) {
        wait_as_worker(g);
    } else {
        wait_as_thread(g);
    }
}

} // namespace

bool fork_tasks(body a, const hints& ha, body b, const hints& hb) {
    group g;
    worker* w = &enter_runtime();
    task* parent = w->current->running;
    auto child = [&](body c, const hints& h, bool last) -> task& {
        task& t = engine::make_task(w, w->eng, 0, 1);
        t.call_ = c.run;
        t.closure_ = c.closure;
        t.last_ = last;
        adopt(t, parent, &g, h);
        return t;
    };
    begin_group(*w, g, *parent);
    // The closures stay on this stack until the wait.
    try {
        task& ta = child(a, ha, false);
        const order how_a = w->eng.scheduler->spawn(w->id, *parent, ta);
        if (how_a == order::lazy) {
            engine::free_task(w, ta);
            --parent->children_;
            end_reported_group(*w, g);
            leave_runtime();
            return false;
        }
        carry_out(*w, g, ta, how_a);
        w = hot_self();
        task& tb = child(b, hb, true);
        const order how_b = w->eng.scheduler->spawn(w->id, *parent, tb);
        carry_out(*w, g, tb, how_b);
    } catch (...) { // no stack, no memory: what was spawned uses this frame
        leave_runtime();
        wait_until_done(g);
        throw;
    }
    leave_runtime();
    wait_group(g);
    return true;
}

silent_scope::silent_scope() noexcept {
    // The chain is empty: nothing is linked while a reported task runs.
    worker& w = enter_runtime();
    of_ = w.current->running;
    of_->silent_ = true;
    leave_runtime();
}

silent_scope::~silent_scope() {
    enter_runtime();
    of_->silent_ = false;
    leave_runtime();
}

// ---- task groups

bool run_silently(group& g, void (*body)(void*), void* source) {
    worker* w = hot_self();
    if (!w) return false;
    const task& me = *w->current->running;
    if (!me.silent_) return false;
    fiber& child = engine::take_fiber(*w);
    enter_runtime();
    task& as = child.own.record;
    as.parent_ = me.parent_;
    as.level_ = me.level_;
    as.root_ = me.root_;
    as.silent_ = true;
    as.state_ = task_state::running;
    if (const std::size_t bytes = w->eng.need.task_bytes) std::memcpy(child.own.bytes, &me + 1, bytes);
    std::exception_ptr refused;
    run_below(*w, g, child, as, body, source, refused);
    leave_runtime();
    if (refused) [[unlikely]]
        std::rethrow_exception(std::move(refused));
    return true;
}

void child_started() noexcept {
    hot_self()->current->child_has_started = true;
    leave_runtime();
}

child_record begin_child(std::size_t bytes, std::size_t align) {
    worker* w = hot_self();
    task& t = engine::make_task(w, w ? w->eng : engine::default_engine(), bytes, align);
    return {&t, t.closure_};
}

void give_up_child(child_record c) noexcept { engine::free_task(hot_self(), *c.record); }

void commit_child(group& g, child_record s, const hints& h, void (*run)(void*),
                  void (*drop)(void*) noexcept) {
    task& t = *s.record;
    t.call_ = run;
    t.drop_ = drop;
    if (!hot_self()) {
        adopt(t, nullptr, &g, h);
        g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
        return engine::submit_root(engine::default_engine(), t);
    }
    worker& w = enter_runtime();
    task& me = *w.current->running;
    begin_group(w, g, me);
    adopt(t, &me, &g, h);
    const order how = w.eng.scheduler->spawn(w.id, me, t);
    try {
        carry_out(w, g, t, how);
    } catch (...) {
        leave_runtime();
        throw;
    }
    leave_runtime();
}

void wait_group(group& g) {
    wait_until_done(g);
    if (g.flags_.load(std::memory_order_relaxed) == 0) [[likely]]
        return;
    g.flags_.store(0, std::memory_order_relaxed);
    if (g.error_) std::rethrow_exception(std::exchange(g.error_, nullptr));
}

void end_group(group& g) noexcept {
    wait_until_done(g);
    if (!g.error_) return;
    if (std::uncaught_exceptions() > 0) return count_suppressed();
    std::fputs("weft: a task group was destroyed with an exception that no wait() took\n", stderr);
    try {
        std::rethrow_exception(std::exchange(g.error_, nullptr)); // so that the terminate handler can name it
    } catch (...) { std::terminate(); }
}

void count_suppressed() noexcept {
    if (worker* w = hot_self()) w->count.suppressed.add();
}

loop_shape shape_of_loop() noexcept {
    worker& w = *hot_self();
    task& t = *w.current->running;
    if (t.silent_) return {false, 0, w.eng.worker_count()};
    enter_runtime();
    const int pieces = w.eng.scheduler->pieces(w.id, t);
    leave_runtime();
    return {true, pieces, w.eng.worker_count()};
}

void mark_iteration(int k) {
    worker* w = hot_self();
    if (!w) return run_in_default({[](void* n) { mark_iteration(*static_cast<int*>(n)); }, &k});
    task& t = *w->current->running;
    const bool is_root = t.level_ == 0 && !t.frame_ && &t != &w->current->own.record;
    if (!is_root || hot_head() != &w->current->root)
        throw error("an iteration was marked inside a parallel region", std::to_string(k),
                    "a call by the root, outside of its joins and groups");
    enter_runtime();
    t.children_ = 0;
    w->eng.scheduler->iteration(w->id, t, k);
    leave_runtime();
}

void run_in_default(body b) { engine::run_root(engine::default_engine(), b); }

} // namespace weft::impl

namespace weft::engine {

void submit_root(engine& e, task& t) {
    t.root_ = e.roots.fetch_add(1, std::memory_order_relaxed); // a number, orders nothing
    t.id_ = static_cast<std::uint64_t>(t.root_) * 2 + 1;
    t.silent_ = e.need.lazy;
    e.submit(t, why::root);
}

void run_root(engine& e, impl::body b) {
    worker* w = impl::hot_self();
    if (w && &w->eng == &e) return b.run(b.closure);
    group g;
    task& t = make_task(nullptr, e, 0, 1);
    t.call_ = b.run;
    t.closure_ = b.closure;
    adopt(t, nullptr, &g, {});
    g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
    submit_root(e, t);
    impl::wait_group(g);
}

} // namespace weft::engine
