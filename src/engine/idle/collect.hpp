#pragma once

#include "engine/idle/home_tasks.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/message.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/worker.hpp"
#include "policy/seam/policy.hpp"
#include "task/task.hpp"

/// One look of a worker that searches, apart from the places at which the policy looks.
namespace weft::engine {

/// Offers the tasks of the arena's inbox to the policy, and hands it the worker's messages.
inline void collect(worker& w) {
    if (!w.arena().inbox.empty()) {
        auto submitted = w.arena().inbox.take_all();
        while (task* const t = submitted.pop_front()) offer(w, *t, static_cast<ready_reason>(t->arrives_as_));
    }
    if (has_messages(w)) [[unlikely]]
        read_messages(w);
}

/// What the worker runs next: a task that was sent to it, or that the gate has bound to its core, if there is one, else
/// what the policy gives.
inline decision next_task(worker& w, bool last_look) {
    if (has_home_tasks(w)) [[unlikely]]
        if (task* const t = take_home_task(w)) return {t, w.local};
    if (w.engine.gate.has_bound()) [[unlikely]] // a last look follows a fence: see gate::bind
        if (task* const t = w.engine.gate.take_bound(w.core(), &w.arena())) return {t, w.local};
    return w.arena().scheduler->next(w.local, last_look);
}

/// At a tick: whether the task `t`, which the worker runs, makes room. An inactive worker stops, whatever the policy says; and
/// what came in from outside, which the policy has not seen, is given to it by the worker that makes room.
inline bool makes_room(worker& w, const task& t) {
    const arena& in = w.arena();
    const bool is_active =
        w.local < in.active_count.load(std::memory_order_relaxed); // one tick earlier or later
    return !is_active || !in.inbox.empty() || has_messages(w) || in.scheduler->gives_way(w.local, t);
}

} // namespace weft::engine
