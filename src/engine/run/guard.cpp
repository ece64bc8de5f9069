#include "engine/worker/worker.hpp"

#include <weft/preemption_guard.hpp>

/// The guards by which a task keeps itself from being preempted. The count is the fiber's, so it moves with the task.
namespace weft::impl {

void guard_preemption() noexcept {
    const tick_hold here;
    if (worker* const w = hot_self()) ++w->current->guards;
}

void unguard_preemption() noexcept {
    const tick_hold here;
    if (worker* const w = hot_self()) --w->current->guards;
}

} // namespace weft::impl
