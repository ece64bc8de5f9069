#pragma once

#include "gate/core_pool.hpp"
#include "gate/resource.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace weft {

/// What a task needs, has, and waits for at the gate. It is made with the task of a graph and used in each
/// run of it; it changes under the gate's lock.
struct claim : std::enable_shared_from_this<claim> {
    struct part {
        resource* of = nullptr;
        std::int64_t amount = 1;
        int place = -1; ///< where it is held; -1: it is not

        bool is_at(int rank) const noexcept; ///< held, where a worker of this rank can use it
    };

    std::vector<part> parts{};       ///< each resource once
    claim* above = nullptr;          ///< the claim of the nearest task around it that has one
    core_pool* among = nullptr;      ///< one of these workers will run the task (R10); null: any worker
    int awaits_cell = -1;            ///< the cell of which a token is kept until it starts; -1: none
    int refusals = 0;                ///< since it last took all of it
    int reserved_by = -1;            ///< the rank at which it reserves what it needs; -1: it does not
    core_request cores{};            ///< the workers it asks for; their part in `parts` is the last
    std::atomic<int> shares_left{0}; ///< of a task that is run once by each of its workers

    bool may_be_at(int rank) const noexcept { return !among || among->has(rank); }
    /// The rank at which the gate looks at it when something becomes free at `rank`, perhaps given back by a
    /// worker of another arena (R10).
    int own(int rank) const noexcept { return among ? among->own(rank) : rank; }

    /// Its workers have been called: what it takes again it takes where it was admitted (R9).
    bool is_settled() const noexcept { return cores.rank >= 0; }

    /// Called with what the task and its descendants touch; null: not wanted.
    void (*touched)(claim&, const void* data, std::size_t bytes, int how) = nullptr;

    virtual ~claim() = default;

    bool holds_some() const noexcept {
        for (const part& p : parts)
            if (p.place >= 0) return true;
        return false;
    }
    const part* part_of(const resource& r) const noexcept {
        for (const part& p : parts)
            if (p.of == &r) return &p;
        return nullptr;
    }
    /// The resource with the narrowest places, if any has places: the task runs at a place of it.
    const resource* binding() const noexcept {
        const auto width = [](const resource& r) { return r.at.front().ranks.size(); };
        const resource* narrowest = nullptr;
        for (const part& p : parts)
            if (p.of->has_places() && (!narrowest || width(*p.of) < width(*narrowest))) narrowest = p.of;
        return narrowest;
    }

    /// Places allow a worker of this rank to run the task, though it may have to wait.
    bool is_possible_at(int rank) const noexcept;
    /// The first rank of these whose worker may run the task; -1: there is none.
    int first_rank_in(rank_range) const noexcept;
    /// `preferred`, or another rank that is possible; -1: none is.
    int possible_rank(int preferred) const noexcept;
    /// The largest total of a place of `r` at which a worker may run the task.
    std::int64_t most(const resource& r) const noexcept;
    /// The ranks of workers that can run the task if it takes what it needs at `rank`; empty: all that may
    /// run it at all.
    rank_range ranks_at(int rank) const noexcept;
    /// Not all workers of ranks_at(rank) are in teams or on their way to one (R11).
    bool has_worker_at(int rank) const noexcept;

    /// Throws weft::error if the claim can never be met: it needs more than there is, or than the claims
    /// above it leave.
    void check(std::string_view of_task) const;

private:
    [[noreturn]] void check_failed_places(std::string_view of_task) const;
};

} // namespace weft
