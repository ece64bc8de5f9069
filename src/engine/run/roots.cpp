#include "engine/run/roots.hpp"
#include "engine/run/default_engine.hpp"
#include "engine/run/spawn.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/task_record.hpp"

#include <weft/error.hpp>
#include <weft/impl/entry.hpp>

#include <string>
#include <string_view>

/// Roots, and questions to the runtime as a whole.
namespace weft::impl {

using engine::enter_runtime;
using engine::leave_runtime;

void count_suppressed() noexcept {
    const tick_hold here;
    if (worker* w = hot_self()) w->count.suppressed.add();
}

void refuse_length() {
    throw error("a loop has too many iterations", "more than 2^63 - 1",
                "at most that many; a grain makes one iteration of several");
}

loop_shape shape_of_loop() noexcept {
    {
        const tick_hold here;
        const worker& w = *hot_self();
        // A loop that measured its own times would make every modelled run different.
        if (w.current->running->silent_) return {w.modelled, 0, w.arena().size()};
    }
    worker& w = enter_runtime();
    task& t = *w.current->running;
    const int pieces = w.arena().scheduler->pieces(w.local, t), workers = w.arena().size();
    leave_runtime();
    return {true, pieces, workers};
}

void mark_iteration(int k) {
    worker* w = hot_self();
    if (!w)
        return engine::run_root(engine::default_engine(),
                                {[](void* n) { mark_iteration(*static_cast<int*>(n)); }, &k}, 0);
    w = &enter_runtime();
    task& t = *w->current->running;
    if (!engine::is_root(t) || w->current->root.next) {
        leave_runtime();
        throw error("an iteration was marked inside a parallel region", std::to_string(k),
                    "a call by the root, outside of its joins and groups");
    }
    t.children_ = 0;
    engine::note(*w, trace::kind::iteration, static_cast<std::uint64_t>(k));
    w->arena().scheduler->iteration(w->local, t, k);
    leave_runtime();
}

void run_in_default(body b, std::string_view name) {
    engine::run_root(engine::default_engine(), b, {.name = name});
}

} // namespace weft::impl

namespace weft::engine {

void run_root(engine& e, impl::body b, trace::code_address code, const hints& h) {
    worker* w = impl::hot_self();
    if (w && &w->engine == &e) return b.run(b.closure);
    group g;
    g.apart_ = true;
    task& t = make_task(nullptr, e, 0, 1);
    t.call_ = b.run;
    t.closure_ = b.closure;
    adopt(t, nullptr, &g, h);
    t.scope_ = nullptr;
    g.open_.fetch_add(1, std::memory_order_relaxed); // the spawner's own 1 keeps it above 0 (G1)
    if (w)                                           // of another engine
        submit_root(e, t, code);
    else
        run_from_outside(e, t, code);
    impl::wait_group(g);
}

} // namespace weft::engine
