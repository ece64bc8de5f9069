#pragma once

#include "gate/core_pool.hpp"
#include "gate/resource.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

/// What a task needs, has, and waits for at the gate. Made with the task of a graph and used in each of its
/// runs; changed under the gate's lock.
struct claim : std::enable_shared_from_this<claim> {
    struct part {
        resource* of = nullptr;
        std::int64_t amount = 1;
        int place = -1; ///< where it is held; -1: it is not
    };

    std::vector<part> parts{};       ///< each resource once
    claim* above = nullptr;          ///< of the nearest task around it that has one
    core_pool* among = nullptr;      ///< the workers of whom one will run the task; null: any
    int awaits_cell = -1;            ///< of which a token is kept until it starts: see gate::take_early
    int refusals = 0;                ///< in a row
    int reserved_by = -1;            ///< rank from which it reserves what it needs; -1: it does not
    core_request cores{};            ///< workers, beside what is in `parts` for them
    std::atomic<int> shares_left{0}; ///< of a task that is run once by each of its workers

    bool may_be_at(int rank) const noexcept { return !among || among->has(rank); }
    /// Where it is looked at when something becomes free at `rank`, perhaps by others than those workers.
    int own(int rank) const noexcept { return among ? among->own(rank) : rank; }

    /// Its workers have been called: where they are was settled, and what it takes again it takes there.
    bool is_settled() const noexcept { return cores.rank >= 0; }

    /// Is told what the task and its descendants touch; null: nobody wants to know.
    void (*touched)(claim&, const void* data, std::size_t bytes, int how) = nullptr;

    virtual ~claim() = default;

    bool holds_all() const noexcept {
        for (const part& p : parts)
            if (p.place < 0) return false;
        return true;
    }
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
    /// The resource with the narrowest places, if any has places: where it is, the task runs.
    const resource* binding() const noexcept {
        const auto width = [](const resource& r) { return r.at.front().ranks.size(); };
        const resource* narrowest = nullptr;
        for (const part& p : parts)
            if (p.of->has_places() && (!narrowest || width(*p.of) < width(*narrowest))) narrowest = p.of;
        return narrowest;
    }
};

} // namespace weft
