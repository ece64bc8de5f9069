#pragma once

#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/worker.hpp"

namespace weft::engine {

/// What the worker may run next: first what the gate has bound to its core, then what the policy gives.
inline decision next_task(worker& w, bool last_look) {
    if (w.eng.gate.has_bound()) [[unlikely]] // a last look comes after a fence: see gate::bind
        if (task* const t = w.eng.gate.take_bound(w.core, &w.arena())) return {t, w.local};
    return w.arena().scheduler->next(w.local, last_look);
}

} // namespace weft::engine
