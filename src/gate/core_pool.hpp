#pragma once

#include "gate/resource.hpp"

#include <cstddef>
#include <vector>

namespace weft {

struct task;
namespace impl {
struct worker;
}

/// The workers that a task asks for, in addition to its own or for its shares. It is made with the claim that
/// it is part of.
struct core_request {
    int count = 0; ///< 0: it asks for none
    scope within = scope::machine;
    bool relaxed = false;   ///< the workers that are idle now are enough, at least one
    bool is_hint = false;   ///< if `count` is more than there are, it means all
    bool is_shared = false; ///< the task is run once by each of them
    bool is_molded = false; ///< the policy molds the task; the gate has no part in it
    bool is_part = false;   ///< the claim's last part is these

    // Of the present run. The gate's lock guards the first three until the request is published; then the
    // lock of the arena that it is published in does.
    std::vector<int> got{}; ///< tokens by cell; once published, the tokens of workers still to come
    int size = 0;           ///< tokens in all
    std::vector<impl::worker*> joined{}; ///< in the order in which they joined
    task* of = nullptr;
    core_request* next = nullptr; ///< the next one that was published
    int rank = -1; ///< where the claim was taken when the request was published; -1: it was not

    /// The number of workers it may have if the largest place has `most`.
    int width(int most) const noexcept { return is_hint && count > most ? most : count; }
};

/// The workers of an arena as tokens. A token is taken for any worker of a certain cell, not for a certain
/// worker. As many workers of a cell as it has free tokens are free to come, sooner or later
/// (T1).
///
/// A cell is the set of workers that have last-level cache, package and memory node in common. Places of
/// every scope consist of whole cells, so no two requests are ever promised the same worker, whatever they
/// ask for.
///
/// Everything that changes belongs to the gate's lock.
struct core_pool {
    struct cell {
        int domain = 0, package = 0, memory_node = 0;
        int workers = 0, free = 0;
    };

    core_pool();
    virtual ~core_pool() = default;
    core_pool(const core_pool&) = delete;
    core_pool& operator=(const core_pool&) = delete;

    /// One more worker, at this rank of the machine.
    void add(const machine&, int rank);
    int cell_of(int rank) const noexcept { return cell_of_rank_[static_cast<std::size_t>(rank)]; }
    /// True if a worker of the arena is at this rank.
    bool has(int rank) const noexcept { return cell_of(rank) >= 0; }
    /// `rank` if a worker of the arena is there, else the first rank that has one (R10).
    int own(int rank) const noexcept { return has(rank) ? rank : first_rank_; }
    /// The number of workers of the largest place of that scope.
    int most(scope) const noexcept;

    bool has_room(const core_request&, int rank) const noexcept;
    /// Takes tokens for a task at this rank, which has room and a worker: in its own place if possible, and
    /// there in its own cell first.
    void take(core_request&, int rank) noexcept;
    void give_back(const std::vector<int>& by_cell) noexcept;
    /// A cell with a free token for a worker of these ranks; of any rank if `ranks` is empty. -1: there is
    /// none.
    int free_cell(rank_range) const noexcept;
    void take_one(int of_cell) noexcept;
    void give_back_one(int of_cell) noexcept;

    /// The number of workers of a cell that have nothing to do: a hint.
    virtual int idle_in(int of_cell) const noexcept {
        return cells[static_cast<std::size_t>(of_cell)].workers;
    }

    std::vector<cell> cells{};
    resource tokens{}; ///< the resource that claims refer to: all tokens in one quantity

private:
    static int place_of(const cell&, scope) noexcept;
    int free_in(int place, scope) const noexcept;

    std::vector<int> cell_of_rank_{}; ///< -1: no worker is there
    int first_rank_ = -1;
};

} // namespace weft
