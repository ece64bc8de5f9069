#pragma once

#include "engine/worker/arena.hpp"
#include "engine/worker/worker.hpp"

namespace weft::engine {

/// Gives the oldest hidden entries of the worker to the policy, as many as are wanted: README.md, "Offering ahead".
/// Called by the worker in the runtime, not in its exposure handler.
void offer_ahead(worker&) noexcept;

/// The same, and `expose_to_askers()`.
template <class Expose>
void offer_ahead_and(worker& w, Expose&& expose_to_askers) noexcept {
    // A worker that searches is there sooner than an asker that must be woken.
    const bool some_search = !w.arena().searching.empty();
    if (some_search) offer_ahead(w);
    expose_to_askers();
    if (!some_search) offer_ahead(w);
}

} // namespace weft::engine
