#include "engine/run/cancellation.hpp"
#include "engine/run/completion.hpp"
#include "engine/run/group_count.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/worker/notes.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace weft::engine {

namespace {

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

/// Identity of the n-th child: the same in every run of the same program. splitmix64 of the path.
std::uint64_t child_id(std::uint64_t parent, std::uint32_t n) noexcept {
    std::uint64_t z = parent + 0x9e3779b97f4a7c15u * (std::uint64_t{n} + 1);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) | 1; // 0 means unknown
}

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

} // namespace

std::uint64_t graph_task_id(std::uint32_t n) noexcept { return child_id(0, n); }

task& make_task(worker* w, engine& e, std::size_t closure_bytes, std::size_t closure_align) {
    const std::size_t closure_at =
        round_up(sizeof(task) + e.need.task_bytes, std::max<std::size_t>(closure_align, 1));
    std::size_t bytes = closure_at + closure_bytes;
    std::size_t slack = closure_align > block_cache::unit / 4 ? closure_align : 0; // blocks are aligned to 16
    bytes += slack;
    void* block;
    if (w) {
        block = w->blocks.take(bytes);
    } else {
        bytes = round_up(bytes, block_cache::unit);
        block = ::operator new(bytes);
    }
    auto* t = ::new (block) task;
    std::memset(static_cast<void*>(t + 1), 0, e.need.task_bytes);
    t->arena_ = w ? &w->arena() : &e.outermost;
    t->block_bytes_ = static_cast<std::uint32_t>(bytes);
    if (closure_bytes) {
        auto at = reinterpret_cast<std::uintptr_t>(block) + closure_at;
        if (slack) at = round_up(at, closure_align);
        t->closure_ = reinterpret_cast<void*>(at);
    }
    return *t;
}

void free_task(worker* w, task& t) noexcept {
    const std::size_t bytes = t.block_bytes_;
    t.~task();
    if (w)
        w->blocks.give(&t, bytes);
    else
        ::operator delete(&t);
}

void adopt(task& child, task* parent, group* in, const hints& h) noexcept {
    child.parent_ = parent;
    child.group_ = in;
    child.scope_ = in;
    child.hint_ = h;
    if (in) child.index_ = static_cast<std::int32_t>(in->spawned_.fetch_add(1, std::memory_order_relaxed));
    if (parent) {
        child.claim_ = parent->claim_;
        child.level_ = parent->level_ + 1;
        child.root_ = parent->root_;
        child.id_ = child_id(parent->id_, parent->children_++);
    }
}

void start(worker& w0, task& t) {
    fiber& self = *w0.current;
    self.reset_chain();
    w0.oldest = &self;
    impl::set_hot_head(&self.root);
    self.running = &t;
    t.state_ = task_state::running;
    w0.count.tasks.add();
    charge(w0, operation::start);

    note_what(w0, trace::kind::begin, t, trace::start::fresh);

    if (t.frame_) {
        impl::frame& f = *t.frame_;
        w0.arena().scheduler->started(w0.local, t);
        if (w0.meters) t.birth_ns_ = w0.eng.now();
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

    const bool cancelled = is_cancelled(t.scope_);
    if (!cancelled) w0.arena().scheduler->started(w0.local, t);
    if (w0.meters) t.birth_ns_ = w0.eng.now();
    leave_runtime();
    std::exception_ptr error;
    run_body(t, cancelled, error);
    worker& w = enter_runtime();
    self.running = nullptr;
    note_what(w, trace::kind::end, t, outcome_of(error, cancelled));
    if (error) fail(&w, *t.group_, std::move(error));
    finish(w, t, cancelled);
}

void call(worker& w0, task& t, bool silent) {
    fiber& self = *w0.current;
    task* parent = self.running;
    self.running = &t;
    t.state_ = task_state::running;
    t.silent_ = silent;
    w0.count.tasks.add();
    note_what(w0, trace::kind::begin, t, trace::start::below);
    const bool cancelled = is_cancelled(t.scope_);
    if (!cancelled) w0.arena().scheduler->started(w0.local, t);
    if (w0.meters) t.birth_ns_ = w0.eng.now();
    leave_runtime();
    std::exception_ptr error;
    run_body(t, cancelled, error);
    worker& w = enter_runtime();
    self.running = parent;
    note_what(w, trace::kind::end, t, outcome_of(error, cancelled));
    if (error) fail(&w, *t.group_, std::move(error));
    finish(w, t, cancelled);
}

void retire(worker& w, task& t, bool cancelled) noexcept {
    usage used;
    used.cancelled = cancelled;
    if (w.meters) {
        used.self = t.self_ns_;
        used.wall = w.eng.now() - t.birth_ns_;
    }
    if (w.counts_misses) {
        used.misses = t.counts_.misses;
        if (w.eng.instructions_from != count_source::unknown) used.instructions = t.counts_.instructions;
    }
    w.arena().scheduler->finished(w.local, t, used);
    if (t.is_root_) [[unlikely]]
        w.eng.root_ended(w);
    free_task(&w, t);
}

void finish(worker& w, task& t, bool cancelled) noexcept {
    group* in = t.group_;
    arena& of = *t.arena_;
    retire(w, t, cancelled);
    if (in) child_done(&w, *in);
    if (of.is_team()) [[unlikely]]
        end_in_team(w, of);
}

void offer(worker& w, task& t, ready_reason reason) noexcept {
    if (t.arena_ != &w.arena()) [[unlikely]]
        return w.eng.submit(t, reason);
    if (w.log) [[unlikely]] {
        const auto at = w.log->now();
        const std::uint32_t number = t.number_; // it may be gone after the next line
        const placement p = w.arena().scheduler->ready(w.local, t, reason);
        note_placement(*w.log, at, number, p, reason);
        return w.eng.announce(w, p);
    }
    const placement p = w.arena().scheduler->ready(w.local, t, reason);
    w.eng.announce(w, p);
}

task& task_of_frame(worker& thief, impl::frame& f) {
    if (!f.run) { // a continuation: the parent's own task goes on
        auto& k = static_cast<continuation&>(f);
        fiber& parent = *k.parent;
        k.read.store(
            true, std::memory_order_release); // pairs with the loop at the child's end; `f` may be gone now
        task& t = *parent.running;
        t.fiber_ = &parent;
        t.arena_ = &thief.arena(); // which is that of the parent
        t.state_ = task_state::suspended;
        return t;
    }
    const task& of = *f.of;
    task& t = make_task(&thief, thief.eng, 0, 1);
    if (const std::size_t bytes = thief.eng.need.task_bytes)
        std::memcpy(static_cast<void*>(&t + 1), f.bytes, bytes);
    t.frame_ = &f;
    t.number_ = f.number;
    t.parent_ = of.parent_;
    t.scope_ = of.scope_;
    t.claim_ = of.claim_;
    t.level_ = of.level_;
    t.root_ = of.root_;
    t.silent_ = true;
    return t;
}

void wake_waiter(worker* w, group& g) noexcept {
    const auto word = g.waiter_.load(std::memory_order_relaxed); // ordered by the decrement that found 0 (G2)
    if (word & 1) return thread_waiter_of(word).wake();
    task& t = *reinterpret_cast<task*>(word);
    engine& home = *static_cast<engine*>(g.waiter_home_);
    if (w && &w->eng == &home)
        offer(*w, t, ready_reason::joined);
    else
        home.submit(t, ready_reason::unblocked);
}

void child_done(worker* w, group& g) noexcept {
    if (count_child_down(g)) wake_waiter(w, g);
}

void fail(worker* w, group& g, std::exception_ptr error) noexcept {
    // relaxed: error_ is published by the decrement of the child that wrote it (G3)
    if (g.flags_.fetch_or(group::flag_failed, std::memory_order_relaxed) & group::flag_failed) {
        if (w) w->count.suppressed.add();
        return;
    }
    g.error_ = std::move(error);
}

void expose_all(worker& w) {
    fiber* const top = w.current;
    for (fiber *x = w.oldest, *next = nullptr;; x = next) {
        while (impl::frame* f = x->split->next) {
            f->of = x->running;
            f->bytes = x->running + 1; // read below, by this worker
            f->thief = not_returnable;
            begin_completion(*f);
            note(w, trace::kind::expose, f->number, 0, trace::nobody);
            task& t = task_of_frame(w, *f);
            x->split = f;
            w.count.exposures.add();
            offer(w, t, ready_reason::exposed);
        }
        if (x == top) return;
        next = x->above; // once x is offered, it may be running elsewhere
        if (!x->above->child_has_started)
            continue; // blocked in the move of its closure: the parent's frame must stay
        continuation& k = next->parent_continuation;
        k.thief = not_returnable;
        k.in->open_.fetch_add(1, std::memory_order_relaxed); // the child above counts from now on
        if (w.arena().is_team()) [[unlikely]]
            w.arena().begin();
        w.oldest = next;
        note(w, trace::kind::expose, number_of(k), 0, trace::nobody);
        w.count.exposures.add();
        offer(w, task_of_frame(w, k), ready_reason::continuation);
    }
}

} // namespace weft::engine
