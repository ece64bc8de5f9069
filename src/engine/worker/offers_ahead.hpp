#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

/// When a worker gives hidden entries to the policy before a thief asks for them: engine/idle/README.md,
/// "Offering ahead".
namespace weft::engine {

/// The member of `worker::askers` that says that the worker is to look whether to offer entries ahead.
std::uint32_t ahead_mark(const worker&) noexcept;
bool has_ahead_mark(const worker&) noexcept;

/// A hidden entry has changed hands: the worker that gave it, or the one that got it, is to offer its next ones. Called by
/// that worker, also in its exposure handler.
void begin_offering_ahead(worker&) noexcept;

/// Counts an offer that `w` begins. If `w` is another worker than that of the offer, both are to offer further ones.
void count_offer(worker& w, task&) noexcept;
[[gnu::always_inline]] inline void count_if_offered_ahead(worker& w, task& t) noexcept {
    if (t.offered_by_ >= 0) [[unlikely]]
        count_offer(w, t);
}

} // namespace weft::engine
