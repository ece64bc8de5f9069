#pragma once

#include "engine/worker/ranks.hpp"
#include "engine/worker/worker.hpp"
#include "trace/write/log.hpp"
#include "trace/write/recorder.hpp"

/// What the steps of an engine leave in the trace. Without a trace these functions do nothing. They are
/// called in the runtime, where the exposure handler notes nothing in between.
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

/// `t` was made: gives it its number. `code`: the program's code in it; 0: there is none, or it is not known here.
void note_spawn(trace::log&, task& t, trace::origin, std::uint64_t in, trace::code_address code) noexcept;
inline void note_spawn(worker& w, task& t, trace::origin from, const void* in,
                       trace::code_address code) noexcept {
    if (w.log) [[unlikely]]
        note_spawn(*w.log, t, from, reinterpret_cast<std::uint64_t>(in), code);
}
/// The policy has placed the task.
inline void note_placement(trace::log& log, std::uint64_t at, std::uint32_t number, const placement& p,
                           ready_reason reason) noexcept {
    log.note_at(at, trace::kind::ready, number, pack(p.who), rank(p.at), static_cast<std::uint8_t>(reason));
}
/// What the hints say. Follows the record of the spawn to which they belong.
void note_hints(trace::log&, const hints&) noexcept;

/// The hints with which a group was made. Nothing for a join, whose hints the runtime made.
inline void note_group(worker& w, const group& g) noexcept {
    if (!w.log || !g.hint_ || g.pair_) [[likely]]
        return;
    w.log->note(trace::kind::group, reinterpret_cast<std::uint64_t>(&g), 0, w.log->name(g.hint_->name));
    note_hints(*w.log, *g.hint_);
}

/// The number of the task that continues or starts with this entry.
inline std::uint32_t number_of(const impl::frame& f) noexcept {
    return f.run ? f.number : static_cast<const continuation&>(f).parent->running->number_;
}

/// Whether the hidden entry has its number, so that it may be exposed. A fork links its frame first, and takes a number
/// in slow_push(); the exposure signal and the tick may come between the two.
inline bool has_number(const worker& w, const fiber& of, const impl::frame& f) noexcept {
    return !w.slow || f.next || of.numbered == &f;
}

/// `w` has exposed the entry of the task `number` to `thief`. Reads the machine only, so that the exposure
/// handler may call it.
void note_offer(worker& w, std::uint32_t number, const worker& thief) noexcept;

// The next functions are called in user code of slow workers, traced or not. Modelled time passes before the
// event, so the task that touched data is the one that waits for them.

/// From now on the events of this stack belong to the task `number`, which runs on it, until
/// note_inline_end().
void note_inline_begin(std::uint32_t number) noexcept;
void note_inline_end(std::uint32_t number, trace::outcome) noexcept;

/// The running task has ended as far as the trace goes. The rest of it is the runtime's own work.
void note_end_early(trace::outcome) noexcept;

/// An event that takes no time. On a modelled machine it does not enter the runtime.
void note_in_user_code(worker& w, trace::kind k, std::uint64_t a = 0, std::uint64_t b = 0,
                       std::uint32_t n = 0, std::uint8_t what = 0) noexcept;

/// The two workers have changed cores. In any thread: a policy exchanges workers at its ticks, too.
void note_exchange(trace::recorder&, const worker&, const worker&) noexcept;

/// `w` has stolen `t` from `from`. `t` may be null: a steal whose task is not known.
void note_steal(worker& w, const worker& from, const task* t) noexcept;

} // namespace weft::engine
