#include <weft/isolate.hpp>

#include "engine/ports/meter.hpp"
#include "engine/run/default_engine.hpp"
#include "engine/run/roots.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/tasks.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"

#include <exception>
#include <utility>

/// Isolated regions: a task that has the worker of the task around it for itself. The region is an arena of one worker,
/// which the worker enters while the task around is suspended, and leaves to go on with that task (engine/team).
namespace weft::engine {

namespace {

struct region {
    impl::body body;
    std::exception_ptr error{};
    arena* in = nullptr;
    task* first = nullptr;
    group* scope = nullptr; ///< of the task around

    void run() noexcept {
        // Not before: the first task runs even if it belongs to a cancelled group, as any call does.
        running_task().scope_ = scope;
        try {
            body.run(body.closure);
        } catch (...) { error = std::current_exception(); }
    }
};

task& make_first(worker& w, region& r, const task& around) {
    task& t = make_task(&w, w.engine, 0, 1);
    t.call_ = [](void* at) { static_cast<region*>(at)->run(); };
    t.closure_ = &r;
    t.arena_ = r.in;
    t.claim_ = around.claim_;
    t.level_ = around.level_;
    t.root_ = around.root_;
    t.preempt_ = around.preempt_;
    t.silent_ = w.engine.zone().lazy;
    return t;
}

void run_in_region(region& r) {
    worker& w = enter_runtime();
    task& me = *w.current->running;
    try {
        r.in = &arena_of_region(w);
        r.scope = me.scope_;
        r.first = &make_first(w, r, me);
    } catch (...) {
        leave_runtime();
        throw;
    }
    note_spawn(w, *r.first, trace::origin::child, &r, trace::address_of(r.body.run));
    note(w, trace::kind::wait, me.number_, reinterpret_cast<std::uint64_t>(&r));
    if (me.silent_) expose_all(w);
    if (w.slow) [[unlikely]]
        w.meter.waits_for(w, "its isolated region", &r);
    const bool claims =
        std::exchange(me.claims_, false); // what it holds at the gate, it holds in the region too
    suspend(
        w, ready_reason::unblocked,
        [](worker& at, void* what, void* waiter) {
            const auto& entered = *static_cast<region*>(what);
            at.resume_first = entered.first;
            enter_region(at, *entered.in, *static_cast<task*>(waiter));
        },
        &r, &me);
    me.claims_ = claims;
    note(*impl::hot_self(), trace::kind::waited, me.number_, reinterpret_cast<std::uint64_t>(&r));
    leave_runtime();
}

} // namespace

} // namespace weft::engine

namespace weft::impl {

void run_isolated(body b) {
    engine::region r{.body = b};
    if (hot_self())
        engine::run_in_region(r);
    else
        engine::run_root(engine::default_engine(),
                         {[](void* at) { engine::run_in_region(*static_cast<engine::region*>(at)); }, &r},
                         trace::address_of(b.run));
    if (r.error) std::rethrow_exception(std::move(r.error));
}

} // namespace weft::impl
