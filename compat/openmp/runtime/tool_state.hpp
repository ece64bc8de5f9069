#pragma once

#include "runtime/team.hpp"
#include "runtime/tool.hpp"

#include <weft/impl/hot.hpp>

#include <array>
#include <atomic>

/// What the files of the tool share: what it has asked for, and the threads that it knows. For tool*.cpp only.
namespace weft::openmp::tool {

/// What the tool has set, by event. A callback is set at any time; relaxed: each call is one look.
[[gnu::visibility("hidden")]] extern constinit std::array<std::atomic<callback>, last_event + 1> callbacks;

/// Calls what the tool has set for the event, if anything. No tick acts meanwhile: a tool expects to stay on its kernel thread.
template <class... Arguments>
void send(event e, Arguments... arguments) noexcept {
    const callback c = callbacks[static_cast<unsigned>(e)].load(std::memory_order_relaxed);
    if (!c || !is_on()) return;
    const weft::impl::tick_hold here;
    reinterpret_cast<void (*)(Arguments...)>(c)(arguments...);
}

/// A kernel thread that has run code of OpenMP.
struct thread_record {
    data noted{};
    region* initial = nullptr; ///< of an initial thread, until that has ended
};
/// That of the caller. With its first use the thread begins for the tool.
thread_record& this_thread() noexcept;
/// Null if it has not begun.
thread_record* known_thread() noexcept;
/// Tells of the end of the caller, if the tool knows it.
void end_this_thread() noexcept;

inline data* noted_of(region* r) noexcept { return r ? &r->seen.noted : nullptr; }

inline int flags_of(const region& r) noexcept {
    if (!r.is_implicit) return task_explicit | (r.is_final ? task_final : 0);
    return r.parent ? task_implicit : task_initial;
}

/// The function of this name that a tool may call; null: there is none.
callback look_up(const char* name) noexcept;

} // namespace weft::openmp::tool
