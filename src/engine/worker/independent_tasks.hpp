#pragma once

#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/worker.hpp"

/// What a policy that follows runs is told of tasks which may outlive the root of their run: policy::child_detached(), child_settled()
/// and turned_away(). On slow paths only.
namespace weft::engine {

inline void child_detached(worker& w) noexcept {
    if (w.engine.runs) [[unlikely]]
        w.arena().scheduler->child_detached(w.local);
}

inline void child_settled(worker& w) noexcept {
    if (w.engine.runs) [[unlikely]]
        w.arena().scheduler->child_settled(w.local);
}

inline void turned_away(worker& w) noexcept {
    if (w.engine.runs) [[unlikely]]
        w.arena().scheduler->turned_away(w.local);
}

} // namespace weft::engine
