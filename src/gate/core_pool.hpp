#pragma once

#include "gate/resource.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace weft {

struct task;
namespace impl {
struct worker;
}

/// Workers that a task asks for, beside itself or for its shares. Made with the claim that it is part of.
struct core_request {
    int count = 0; ///< 0: it asks for none
    scope within = scope::machine;
    bool relaxed = false;   ///< what is idle now will do, down to one
    bool is_hint = false;   ///< more than there are means all there are
    bool is_shared = false; ///< the task is run once by each of them
    bool is_part = false;   ///< the claim's last part is these

    // Of the present run; the first three under the gate's lock until the request is published, then under
    // the lock of those whom it is published to.
    std::vector<int> got{};              ///< tokens by cell; once published, those still to come
    int size = 0;                        ///< tokens in all
    std::vector<impl::worker*> joined{}; ///< first come, first
    task* of = nullptr;
    core_request* next = nullptr; ///< published later
    int rank = -1; ///< where the claim was taken when the request was published; -1: it was not

    /// As many as it may have, of workers of whom so many are in one place.
    int width(int most) const noexcept { return is_hint && count > most ? most : count; }
};

/// The workers of an arena as tokens. A token is taken for a worker of a certain cell, not for a certain
/// worker: as many workers of the cell as have no token taken for them are free to come, sooner or later.
///
/// A cell is the workers that have last-level cache, package and memory node in common; places of every scope
/// consist of whole cells. So no two requests are ever promised the same worker, whatever they ask for.
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
    /// One of them is there.
    bool has(int rank) const noexcept { return cell_of(rank) >= 0; }
    /// `rank` if one of them is there, else one where one is.
    int own(int rank) const noexcept { return has(rank) ? rank : first_rank_; }
    /// Workers of the largest place of that scope.
    int most(scope) const noexcept;

    bool has_room(const core_request&, int rank) const noexcept;
    /// For a task at this rank, which has room and a worker. Its own place first, and of that its own cell.
    void take(core_request&, int rank) noexcept;
    void give_back(const std::vector<int>& by_cell) noexcept;
    /// A cell with a free token, for a worker of these ranks, or of any if there are none; -1: there is none.
    int free_cell(rank_range) const noexcept;
    void take_one(int of_cell) noexcept;
    void give_back_one(int of_cell) noexcept;

    /// How many of a cell have nothing to do: a hint.
    virtual int idle_in(int of_cell) const noexcept {
        return cells[static_cast<std::size_t>(of_cell)].workers;
    }

    std::vector<cell> cells{};
    resource tokens{}; ///< what claims refer to: all of them in one quantity

private:
    static int place_of(const cell&, scope) noexcept;
    int free_in(int place, scope) const noexcept;

    std::vector<int> cell_of_rank_{}; ///< -1: nobody is there
    int first_rank_ = -1;
};

} // namespace weft
