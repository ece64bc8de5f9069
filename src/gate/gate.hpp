#pragma once

#include "gate/claim.hpp"
#include "gate/resource.hpp"
#include "queue/chain.hpp"
#include "queue/spin_lock.hpp"
#include "task/task.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

namespace engine {
struct arena;
}

/// What may start now, whatever the policy says: between its next() and the start of a task. README.md beside
/// this file has the rules.
class gate {
public:
    /// Tasks that have become free to go, for the caller to hand on when the lock has been left.
    struct released {
        struct bound {
            rank_range ranks;
            engine::arena* in;
        };
        queue::chain<task> tasks{}; ///< to the policy: they may run anywhere, or where the caller is
        std::vector<bound> at{};    ///< something waits here for workers of these ranks: wake one of each
    };

    gate(resource_table&&, const machine&);

    resource* find(std::string_view name) const noexcept { return table_.find(name); }
    std::string names() const { return table_.names(); }
    /// What the resources file says that tasks of this name need.
    std::span<const class_need> needs_of(std::string_view tasks) const noexcept;
    bool has_needs() const noexcept { return !table_.needs.empty(); } ///< of tasks of any name
    /// Throws weft::error if the claim can never be met: it needs more than there is, or than the claims
    /// above it leave.
    void check(const claim&, std::string_view of_task) const;

    /// A worker at `rank` has got `t`, which has a claim. True: all that it needs is taken, let it run.
    /// False: the gate keeps it.
    bool admit(int rank, task& t, claim&, released&);
    /// The task has ended. With it goes what it holds.
    void release(int rank, claim&, released&);
    /// The task is suspended: it gives back what may rest.
    void rest(int rank, claim&, released&);

    /// The workers of a team are free again, so many of each cell.
    void give_back_cores(int rank, core_pool&, const std::vector<int>& by_cell, released&);

    /// A task of that arena that only workers of certain ranks may run, this one among them; null if there is
    /// none. It comes without policy::ready.
    task* take_bound(int rank, const engine::arena* = nullptr);
    bool has_bound_for(int rank, const engine::arena*) const;
    bool has_bound() const noexcept { return bound_.load(std::memory_order_relaxed) > 0; } // a hint

    /// The tasks that wait here, one a line, for reports of deadlocks.
    std::string to_string() const;
    std::string to_string(const core_pool&) const; ///< those that wait for workers

private:
    struct bound_tasks { ///< tasks for workers of certain ranks
        rank_range ranks;
        queue::chain<task> tasks{};
    };

    static std::string line(const task&, std::string_view what);
    static int place_at(const resource&, int rank) noexcept;
    static bool is_at(const claim::part& held, int rank) noexcept;
    static bool is_possible(const claim&, int rank) noexcept;
    static int own_rank_in(const claim&, rank_range) noexcept;
    static int possible_rank(const claim&, int preferred) noexcept;
    static std::int64_t most(const claim&, const resource&) noexcept;
    std::optional<int> room(const claim&, const claim::part&, int rank) const noexcept;
    const claim::part* obstacle(const claim&, int rank) const noexcept;
    std::optional<int> rank_with_room(const claim&, int first) noexcept;
    bound_tasks& bound_to(rank_range) noexcept;
    void take(claim&, int rank) noexcept;
    static rank_range place_of(const claim&, int rank) noexcept;
    static bool has_worker(const claim&, int rank) noexcept;
    bool take_early(claim&, int rank) noexcept;
    bool has_older_reservation_of_workers(const claim&, const resource& tokens) const noexcept;
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
    std::vector<const claim*> reserving_; ///< oldest first
    std::vector<const claim*> freed_;     ///< who has been given what it had reserved, within one operation
    queue::chain<task> mixed_;            ///< refused; see list_for
    std::vector<bound_tasks> places_;
    std::atomic<int> bound_{0}; ///< tasks in places_; written under the lock
};

} // namespace weft
