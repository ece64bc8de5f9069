#pragma once

#include "engine/worker/engine.hpp"
#include "engine/worker/ranks.hpp"
#include "engine/worker/worker.hpp"
#include "trace/write/recorder.hpp"

#include <bit>

/// What the engines' steps leave in the trace; nothing without one. Called in the runtime, where the handler
/// of signals notes nothing in between.
namespace weft::engine {

[[gnu::always_inline]] inline void note(worker& w, trace::kind k, std::uint64_t a = 0, std::uint64_t b = 0,
                                        std::uint32_t n = 0, std::uint8_t what = 0) noexcept {
    if (w.log) [[unlikely]]
        w.log->note(k, a, b, n, what);
}

template <class What>
[[gnu::always_inline]] inline void note_what(worker& w, trace::kind k, const task& t, What what) noexcept {
    if (w.log) [[unlikely]]
        w.log->note(k, t.number_, 0, 0, static_cast<std::uint8_t>(what));
}

/// `t` has come to be: gets its number.
void note_spawn(trace::log&, task& t, trace::origin, std::uint64_t in) noexcept;
inline void note_spawn(worker& w, task& t, trace::origin from, const void* in) noexcept {
    if (w.log) [[unlikely]]
        note_spawn(*w.log, t, from, reinterpret_cast<std::uint64_t>(in));
}
/// The policy has put the task somewhere.
inline void note_placement(trace::log& log, std::uint64_t at, std::uint32_t number, const placement& p,
                           ready_reason reason) noexcept {
    log.note_at(at, trace::kind::ready, number, pack(p.who), rank(p.at), static_cast<std::uint8_t>(reason));
}
/// What the hints say, behind the spawn that they are of.
void note_hints(trace::log&, const hints&) noexcept;

/// What the hints say that a group was made with. A join's were made by the runtime.
inline void note_group(worker& w, const group& g) noexcept {
    if (!w.log || !g.hint_ || g.pair_) [[likely]]
        return;
    w.log->note(trace::kind::group, reinterpret_cast<std::uint64_t>(&g), 0, w.log->name(g.hint_->name));
    note_hints(*w.log, *g.hint_);
}

/// Of the entry that is about to be handed to `thief`.
inline std::uint32_t number_of(const impl::frame& f) noexcept {
    return f.run ? f.number : static_cast<const continuation&>(f).parent->running->number_;
}

/// `w` has offered the rest of the program at a task to `thief`. Reads the machine only, so that the handler
/// of signals may call it.
inline void note_offer(worker& w, std::uint32_t number, const worker& thief) noexcept {
    note(w, trace::kind::expose, number,
         std::bit_cast<std::uint64_t>(w.log ? w.engine.on.distance(thief.core, w.core) : 0),
         static_cast<std::uint32_t>(thief.id));
}

// In user code of slow workers, traced or not: time that is modelled passes before the event, so that what
// the code has touched is waited for by the task that touched it.

/// The rest of the stack's events are those of this task, until it ends.
void note_inline_begin(std::uint32_t number) noexcept;
void note_inline_end(std::uint32_t number, trace::outcome) noexcept;

/// The running task has ended as far as the trace goes; the rest is the runtime's own.
void note_end_early(trace::outcome) noexcept;

/// In user code: an event that takes no time, and is no moment at which the runtime looks around.
void note_in_user_code(worker& w, trace::kind k, std::uint64_t a = 0, std::uint64_t b = 0,
                       std::uint32_t n = 0, std::uint8_t what = 0) noexcept;

/// `w` has found work that lay at `from`.
void note_steal(worker& w, const worker& from, const task* t) noexcept;

} // namespace weft::engine
