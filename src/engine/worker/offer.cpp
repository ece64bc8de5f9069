#include "engine/worker/offer.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/observation.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "trace/write/log.hpp"
#include "trace/write/recorder.hpp"

namespace weft::engine {

void offer(worker& w, task& t, ready_reason reason) noexcept {
    if (t.arena_ != &w.arena()) [[unlikely]]
        return w.host.submit(t, reason);
    if (w.log) [[unlikely]] {
        const auto at = w.log->now();
        const std::uint32_t number = t.number_; // the task may be gone after the next line
        const placement p = w.arena().scheduler->ready(w.local, t, reason);
        note_placement(*w.log, at, number, p, reason);
        return w.host.announce(w, p);
    }
    const placement p = w.arena().scheduler->ready(w.local, t, reason);
    w.host.announce(w, p);
}

void number_root(engine& e, task& t, trace::code_address code) {
    const impl::tick_hold here;                                // of the lock of the account
    t.root_ = e.roots.fetch_add(1, std::memory_order_relaxed); // a number, orders nothing
    t.id_ = static_cast<std::uint64_t>(t.root_) * 2 + 1;
    t.silent_ = e.zone().lazy;
    t.is_root_ = true;
    e.observation.root_begins(t);
    if (e.tracer) [[unlikely]] {
        worker* const w = impl::hot_self();
        if (w && &w->engine == &e)
            note_spawn(*w->log, t, trace::origin::root, 0, code);
        else
            e.tracer->outside([&](trace::log& log) { note_spawn(log, t, trace::origin::root, 0, code); });
    }
}

void submit_root(engine& e, task& t, trace::code_address code) {
    number_root(e, t, code);
    e.host.submit(t, ready_reason::root);
}

} // namespace weft::engine
