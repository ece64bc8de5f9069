#include "engine/ports/host.hpp"
#include "engine/run/completion.hpp"
#include "engine/run/skipped_forks.hpp"
#include "engine/run/spawn.hpp"
#include "engine/run/switch.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"

#include <weft/impl/entry.hpp>

#include <exception>

/// The slow paths of a join.
namespace weft::impl {

using engine::completion;
using engine::completion_of;
using engine::enter_runtime;
using engine::leave_runtime;

zone slow_push(frame* parent, frame* f, const hints* h) noexcept {
    worker* w = hot_self();
    if (!w ||
        !engine::running_task().silent_) { // no thief can have it: a reported task's entries are not exposed
        parent->next = nullptr;
        return w ? zone::reported : zone::outside;
    }
    if (w->slow) {
        // On a modelled machine the fork takes place when the virtual time of the code before it has passed.
        parent->next = nullptr;
        w = &enter_runtime();
        parent->next = f;
        w->meter.charge(*w, engine::operation::fork);
        const std::uint32_t named =
            w->log ? w->log->name(h ? h->name : std::string_view(), trace::address_of(f->run)) : 0;
        if (w->skipped.watch && engine::push_skipped(*w, parent, f, named)) return zone::silent;
        f->number = w->log ? w->log->new_task() : 0;
        w->current->numbered = f;
        if (w->log) {
            w->log->note(trace::kind::spawn, f->number, 0, named,
                         static_cast<std::uint8_t>(trace::origin::fork));
            if (h) engine::note_hints(*w->log, *h);
        }
    } else {
        enter_runtime();
    }
    leave_runtime(); // exposes entries to the workers that ask
    return zone::silent;
}

namespace {

/// The youngest exposed frame of the fiber ends. Returns how it was run.
outcome join_exposed(worker& w, frame* parent, frame* f) noexcept {
    w.current->split = parent;
    if (f->thief >= 0 && w.host.reclaim(w, *f)) {
        engine::note(w, trace::kind::returned, f->number);
        return outcome::not_run;
    }
    engine::note(w, trace::kind::wait, w.current->running->number_, 0, f->number);
    auto& done = completion_of(*f);
    if (done.poll() == completion<>::running) {
        task* waiter = w.current->running;
        if (w.slow) [[unlikely]]
            w.meter.waits_for(w, "the other half of its join", f);
        engine::suspend(
            w, ready_reason::joined,
            [](worker& at, void* c, void* t) {
                if (!static_cast<completion<>*>(c)->wait(reinterpret_cast<std::uintptr_t>(t)))
                    at.resume_first = static_cast<task*>(t);
            },
            &done, waiter);
    }
    worker& here = *hot_self();
    engine::note(here, trace::kind::waited, here.current->running->number_, 0, f->number);
    return done.poll() == completion<>::failed ? outcome::failed : outcome::value;
}

} // namespace

outcome slow_pop(frame* parent, frame* f) noexcept {
    // On a modelled machine a thief can have the second closure until the virtual time of the first one has passed.
    if (hot_self()->modelled) parent->next = f;
    worker& w = enter_runtime();
    if (w.modelled) parent->next = nullptr;
    if (w.slow) {
        w.current->numbered = parent;
        if (engine::pop_skipped(w, f)) return outcome::not_run;
    }
    outcome how = outcome::not_run;
    // Only frames at or above `split` are exposed, and the frame that ends is the youngest of all.
    if (f == w.current->split) how = join_exposed(w, parent, f);
    leave_runtime();
    return how;
}

int inside_mark::exceptions_here() noexcept {
    const tick_hold here;
    return std::uncaught_exceptions();
}

bool inside_mark::begins(const frame& f) noexcept {
    const worker* w = hot_self();
    if (!w || !w->slow) return false;
    if (bool is_marked = false; w->skipped.watch && engine::second_begins_skipped(f, is_marked))
        return is_marked;
    engine::note_inline_begin(f.number);
    return true;
}

void inside_mark::ends(std::uint32_t number, bool threw) noexcept {
    if (number == 0 && hot_self()->skipped.watch) return engine::second_ends_skipped();
    engine::note_inline_end(number, threw ? trace::outcome::threw : trace::outcome::done);
}

bool fork_tasks(body a, const hints& ha, body b, const hints& hb) {
    group g;
    // The sum over both closures, where both hints say something.
    hints both{.children = 2};
    if (ha.work > 0 && hb.work > 0) both.work = ha.work + hb.work;
    if (ha.bytes > 0 && hb.bytes > 0) both.bytes = ha.bytes + hb.bytes;
    g.hint_ = &both;
    g.pair_ = true;
    worker* w = &enter_runtime();
    task* parent = w->current->running;
    auto child = [&](body c, const hints& h, bool last) -> task& {
        task& t = engine::make_task(w, w->engine, 0, 1);
        t.call_ = c.run;
        t.closure_ = c.closure;
        t.last_ = last;
        engine::adopt(t, parent, &g, h);
        t.scope_ = parent->scope_;
        return t;
    };
    engine::begin_group(*w, g, *parent);
    // The closures stay on this stack until the wait.
    try {
        task& ta = child(a, ha, false);
        const spawn_order how_a = w->arena().scheduler->spawn(w->local, *parent, ta);
        if (how_a == spawn_order::lazy) {
            engine::free_task(w, ta);
            --parent->children_;
            engine::end_reported_group(*w, g);
            leave_runtime();
            return false;
        }
        engine::execute_spawn(*w, g, ta, how_a);
        w = hot_self();
        task& tb = child(b, hb, true);
        const spawn_order how_b = w->arena().scheduler->spawn(w->local, *parent, tb);
        engine::execute_spawn(*w, g, tb, how_b);
    } catch (...) { // no stack or no memory is left; a spawned closure still uses this stack frame
        leave_runtime();
        engine::wait_until_done(g);
        throw;
    }
    leave_runtime();
    wait_group(g);
    return true;
}

silent_scope::silent_scope() noexcept {
    // The chain is empty, because a reported task links nothing.
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

} // namespace weft::impl
