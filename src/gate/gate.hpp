#pragma once

#include "gate/bound_tasks.hpp"
#include "gate/claim.hpp"
#include "gate/reservations.hpp"
#include "gate/resource.hpp"
#include "queue/chain.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

namespace engine {
struct arena;
}

/// What may start now, whatever the policy says: it stands between the policy's next() and the start of a
/// task. README.md beside this file has the rules R1 to R11.
class gate {
public:
    /// Tasks that may go now. The caller hands them on after the gate has left its lock.
    struct released {
        struct bound {
            rank_range ranks;
            engine::arena* in;
        };
        queue::chain<task> tasks{}; ///< for the policy: they may run anywhere, or where the caller is
        std::vector<bound> at{};    ///< for each, a task waits for workers of these ranks: wake one
    };

    gate(resource_table&&, const machine&);

    resource* find(std::string_view name) const noexcept { return table_.find(name); }
    std::string names() const { return table_.names(); }
    /// What tasks of this name need by the resources file.
    std::span<const class_need> needs_of(std::string_view tasks) const noexcept;
    bool has_needs() const noexcept { return !table_.needs.empty(); } ///< the file names tasks
    /// A worker at `rank` has got `t`, which has a claim. True: all that it needs is taken, and the worker
    /// runs it. False: the gate keeps it.
    bool admit(int rank, task& t, claim&, released&);
    /// The task has ended: it gives back all that it holds.
    void release(int rank, claim&, released&);
    /// The task is suspended: it gives back what rests.
    void rest(int rank, claim&, released&);

    /// The workers of a team are free again, `by_cell[n]` of cell n.
    void give_back_cores(int rank, core_pool&, const std::vector<int>& by_cell, released&);

    /// What `change(none_is_out)` returns: under the gate's lock, it may give the pool's workers other ranks if none of their
    /// tokens is taken. The ranks as a whole stay the same.
    template <class Change>
    bool with_workers(const core_pool& of, const Change& change) {
        const std::lock_guard guard(lock_);
        return change(std::ranges::all_of(of.cells, [](const auto& c) { return c.free == c.workers; }));
    }

    /// A task of that arena that only workers of certain ranks may run, `rank` among them; null if there is
    /// none. policy::ready is not called for it.
    task* take_bound(int rank, const engine::arena* = nullptr);
    bool has_bound_for(int rank, const engine::arena*) const;
    bool has_bound() const noexcept { return bound_.any(); } ///< a hint

    /// The tasks that wait here, one on each line, for reports of deadlocks.
    std::string to_string() const;
    std::string to_string(const core_pool&) const; ///< those that wait for workers

private:
    static std::string line(const task&, std::string_view what);
    std::optional<int> rank_with_room(const claim&, int first) const noexcept;
    void take(claim&, int rank) noexcept;
    bool take_early(claim&, int rank) noexcept;
    void look_for_workers(core_pool&, int rank, released&);
    void give_back(claim::part&) noexcept;
    void give_back(int rank, claim&, bool all, released&);
    void refuse(claim&, int rank);
    queue::chain<task>& list_for(const claim&, int rank, resource& otherwise) noexcept;
    void look_again(const claim&, int rank, released&);
    void look_at_freed(int rank, released&);
    void reconsider(const claim&, int rank, released&);
    void reconsider_mixed(int rank, released&);
    bool let_go(task&, resource*, bool is_oldest, int rank, released&);
    void reconsider(resource&, int rank, released&);
    void hand_on(task&, const claim&, int from, int to, released&);
    void bind(task&, rank_range, released&);

    mutable queue::spin_lock<> lock_;
    resource_table table_;
    reservations reservations_;
    bound_tasks bound_;
    std::vector<const claim*> freed_; ///< claims given what they had reserved, within one operation
    queue::chain<task> mixed_;        ///< refused; see list_for
};

} // namespace weft
