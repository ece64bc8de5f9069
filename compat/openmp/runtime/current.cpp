#include "runtime/current.hpp"

#include "runtime/initial.hpp"
#include "runtime/launch.hpp"

#include "engine/worker/worker.hpp"

#include <weft/impl/hot.hpp>

/// Finding the region of the caller. The thread remembers the last one with the fiber on which it was entered; when
/// another fiber runs, the thread's memory is not about the caller.
namespace weft::openmp {

namespace {

struct memory {
    context* of;
    const void* fiber; ///< null: the thread's own stack
};
[[gnu::tls_model("initial-exec")]] thread_local constinit memory remembered{nullptr, nullptr};

const void* fiber_of_caller() noexcept {
    const weft::impl::worker* const w = weft::impl::hot_self();
    return w ? static_cast<const void*>(w->current) : nullptr;
}

/// With the tick held away.
context* find() noexcept {
    const weft::impl::worker* const w = weft::impl::hot_self();
    context* const c = w ? context_of_task(*w->current->running) : nullptr;
    return c ? c : &initial_context();
}

} // namespace

[[gnu::noinline]] context* context_of_caller() noexcept {
    const weft::impl::tick_hold here;
    const void* const on = fiber_of_caller();
    if (remembered.of && remembered.fiber == on) [[likely]]
        return remembered.of;
    context* const c = find();
    remembered = {c, on};
    return c;
}

[[gnu::noinline]] context* known_context_of_caller() noexcept {
    const weft::impl::tick_hold here;
    if (remembered.of && remembered.fiber == fiber_of_caller()) return remembered.of;
    const weft::impl::worker* const w = weft::impl::hot_self();
    context* const c = w ? context_of_task(*w->current->running) : nullptr;
    return c ? c : known_initial_context();
}

[[gnu::noinline]] region& current_region() noexcept { return *context_of_caller()->current; }

[[gnu::noinline]] void enter_context(context* c) noexcept {
    const weft::impl::tick_hold here;
    remembered = {c, fiber_of_caller()};
}

} // namespace weft::openmp
