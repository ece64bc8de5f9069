#pragma once

#include "engine/worker/worker.hpp"

#include <weft/impl/hot.hpp>

#include <cstdint>

/// Forks of a profiled run that note no events.
///
/// The profile says before a fork whether it needs to know what happens inside (trace::event_sink::skips). If not, both
/// closures run as in a program without a profile: `limit` is the address of the fork's own frame, so the forks inside are
/// ordinary, and both ends of the skipped one come to the slow path (H4, with another border). The runtime stores 0 to
/// `limit` whenever it is left; then the next fork inside comes to slow_push(), which puts the border back.
///
/// An event that the profile follows ends this (stop_skipping): all frames that are linked get their numbers, as if their forks
/// took place at that moment. A fork inside whose second closure runs already is not linked any more; it stays part of the task.
///
/// With one worker only, so that no thief asks for what is hidden, and in tasks that are not preempted: a tick may come between the
/// unlinking of a frame and the look at `limit`, and that frame would have no number on the slow path.
namespace weft::engine {

using impl::worker;

/// The fork of `f` below `above` has come to slow_push(), and the caller is in the runtime. `name`: of the second closure. True: it
/// is, or lies inside of, a skipped fork, and has no events; the runtime was left.
bool push_skipped(worker&, impl::frame* above, impl::frame* f, std::uint32_t name) noexcept;
/// The first closure of `f` has ended. True: as above.
bool pop_skipped(worker&, const impl::frame* f) noexcept;
/// Its second closure begins, in user code. True: it has no task of its own. `is_marked`: second_ends_skipped() is to come.
bool second_begins_skipped(const impl::frame& f, bool& is_marked) noexcept;
/// In user code: the second closure of a skipped fork has ended.
void second_ends_skipped() noexcept;

/// Events are noted again. In the runtime.
void stop_skipping_slow_path(worker&) noexcept;
inline void stop_skipping(worker& w) noexcept {
    if (w.skipped.is_inside) [[unlikely]]
        stop_skipping_slow_path(w);
}

} // namespace weft::engine
