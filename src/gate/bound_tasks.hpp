#pragma once

#include "gate/resource.hpp"
#include "queue/chain.hpp"
#include "task/task.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace weft {

namespace engine {
struct arena;
}

/// Tasks that only workers of certain ranks may run, by place (R6). Everything here but any() belongs to the
/// gate's lock.
class bound_tasks {
public:
    struct place {
        rank_range ranks;
        queue::chain<task> tasks{};
    };

    /// The places of all resources of the table.
    explicit bound_tasks(const resource_table&);

    void put(task&, rank_range);
    /// The oldest task of that arena that a worker of this rank may run; null if there is none.
    task* take(int rank, const engine::arena*) noexcept;
    bool has_for(int rank, const engine::arena*) const noexcept;
    std::size_t count_at(rank_range) const noexcept;
    const std::vector<place>& places() const noexcept { return places_; }

    /// A hint, from any thread. relaxed: a worker that is told of a task by a wake-up takes the lock anyway
    bool any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }

private:
    void count(int change) noexcept {
        // relaxed: only the holder of the lock writes, and any() is a hint
        count_.store(count_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
    }

    std::vector<place> places_;
    std::atomic<int> count_{0};
};

} // namespace weft
