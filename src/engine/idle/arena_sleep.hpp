#pragma once

#include "engine/idle/home_tasks.hpp"
#include "engine/idle/sleep_protocol.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

/// The sleep protocol over the members of an arena, all of them workers of one engine's type.
namespace weft::engine {

template <class Worker>
struct members_as {
    arena& of;
    Worker* operator[](std::uint32_t r) const noexcept { return static_cast<Worker*>(of.members[r]); }
};

template <class Worker>
class arena_sleep_protocol {
public:
    explicit arena_sleep_protocol(arena& a) noexcept
        : members_{a}
        , steps_{a.searching, a.parked, members_, a.active_count, a.engine.need.offers_ahead} {}
    arena_sleep_protocol(const arena_sleep_protocol&) = delete;
    arena_sleep_protocol& operator=(const arena_sleep_protocol&) = delete;

    sleep_protocol<const members_as<Worker>>* operator->() noexcept { return &steps_; }

private:
    const members_as<Worker> members_; // before steps_, which refers to it
    sleep_protocol<const members_as<Worker>> steps_;
};

/// team_host::wake_in(): wakes every parked worker of the range.
template <class Worker>
void wake_parked(arena& a, workers range) noexcept {
    queue::std_sync::fence(std::memory_order_seq_cst); // after the caller's write, as in announce() (S1)
    for (worker_id w = range.first; w < range.last; ++w)
        if (a.parked.erase(rank(w))) static_cast<Worker*>(a.members[rank(w)])->parker.wake();
}

/// team_host::wake_for_team(): called after the request was published (T3 of engine/team/README.md). A worker
/// that parks or becomes inactive looks for the request after a fence of its own.
template <class Worker>
void wake_cells(arena& a, const std::vector<int>& by_cell) {
    queue::std_sync::fence(
        std::memory_order_seq_cst); // between the publication and the looks at `parked` (S1)
    std::vector<int> left = by_cell;
    for (worker_id r = 0; r < a.size(); ++r) {
        auto& w = static_cast<Worker&>(*a.members[rank(r)]);
        int& wanted = left[static_cast<std::size_t>(a.cell_of(w.core()))];
        if (wanted == 0) continue;
        if (a.parked.erase(rank(r))) {
            --wanted;
            w.parker.wake();
        } else if (r >= a.active_count.load(
                            std::memory_order_relaxed)) { // it may sleep as an inactive worker, in no set
            w.parker.wake();
        }
    }
}

/// team_host::wake_inactive(): called after the task was bound. An inactive worker looks for it after a fence of its own.
template <class Worker>
void wake_inactive_in(arena& a, rank_range ranks) noexcept {
    queue::std_sync::fence(std::memory_order_seq_cst);
    const int active = a.active_count.load(std::memory_order_relaxed); // after the fence
    if (active == a.size()) return;
    for (worker_id r = 0; r < active; ++r)
        if (ranks.contains(a.members[rank(r)]->core())) return;
    for (worker_id r = active; r < a.size(); ++r)
        if (auto& w = static_cast<Worker&>(*a.members[rank(r)]); ranks.contains(w.core())) w.parker.wake();
}

/// Whether a share of a moldable task waits for that worker alone (M4). For a worker that is about to sleep: after a fence.
inline bool has_share(const worker& w) {
    return w.engine.need.most_width > 0 && w.arena().scheduler->keeps_share(w.local);
}

/// A task that only this worker, or only workers on its core, may run, or null. The worker runs it even if it is inactive.
inline task* bound_task_of(const worker& w) {
    if (has_share(w)) return w.arena().scheduler->next(w.local, false).t;
    if (has_home_tasks(w))
        if (task* const t = take_home_task(w)) return t;
    weft::gate& of_engine = w.engine.gate;
    return of_engine.has_bound() ? of_engine.take_bound(w.core(), &w.arena()) : nullptr;
}

} // namespace weft::engine
