#include "runtime/cancellation.hpp"

#include "runtime/tasks.hpp"
#include "runtime/team.hpp"
#include "runtime/wait.hpp"

namespace weft::openmp {

namespace {

task_group* group_that_can_be_cancelled(const region& me) noexcept {
    task_group* g = me.group;
    while (g && g->is_work_share) g = g->outer;
    return g;
}

} // namespace

bool is_cancelled(const region& me, cancellable which) noexcept {
    if (!settings().cancellation) return false;
    if (which == cancellable::work_share) return me.in->is_share_cancelled.load(std::memory_order_relaxed);
    if (which == cancellable::group) {
        const task_group* const g = group_that_can_be_cancelled(me);
        if (g && g->is_cancelled.load(std::memory_order_relaxed)) return true;
        // Explicit tasks end with the parallel region that is cancelled.
    }
    return me.in->is_cancelled.load(std::memory_order_relaxed);
}

bool cancel(region& me, cancellable which) {
    if (!settings().cancellation) return false;
    if (which == cancellable::work_share) {
        me.in->is_share_cancelled.store(true, std::memory_order_relaxed);
        wake_all(&me.on->share->turn);
        return true;
    }
    if (which == cancellable::group) {
        if (task_group* const g = group_that_can_be_cancelled(me))
            g->is_cancelled.store(true, std::memory_order_relaxed);
        return true;
    }
    me.in->is_cancelled.store(true, std::memory_order_relaxed);
    wake_all(&me.in->word); // threads that wait at barriers that can be cancelled
    wake_all(&me.on->share->turn);
    return true;
}

} // namespace weft::openmp
