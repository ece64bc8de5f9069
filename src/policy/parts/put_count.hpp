#pragma once

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

/// How many tasks have been put anywhere so far: a worker that found nothing anywhere need not send messages
/// before that has changed. Without it, sleepers would wake each other by their requests for ever.
///
/// Each worker counts in a word of its own; any worker reads the sum. It is relaxed, since it guards nothing.
namespace weft {

class put_count {
public:
    void attach(int workers) {
        mine_ = std::make_unique<one[]>(static_cast<std::size_t>(workers));
        count_ = static_cast<std::size_t>(workers);
    }
    void add(worker_id w) noexcept { mine_[static_cast<std::size_t>(w)].puts.add(1); }
    std::uint32_t total() const noexcept {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count_; ++i) sum += mine_[i].puts.load_relaxed();
        return sum;
    }

private:
    struct alignas(queue::k_cache_line_bytes) one {
        queue::cell<std::uint32_t> puts;
    };
    std::unique_ptr<one[]> mine_;
    std::size_t count_ = 0;
};

/// Whether a worker, or the head of a cluster, may ask far away: it has not given up, or a task has been put
/// anywhere since. Only the worker that it belongs to may touch it.
struct far_patience {
    bool gave_up = false;
    std::uint32_t seen = 0; ///< put_count::total() when it gave up

    bool may_ask(const put_count& puts) noexcept {
        if (gave_up && puts.total() != seen) gave_up = false;
        return !gave_up;
    }
    void give_up(std::uint32_t total) noexcept {
        gave_up = true;
        seen = total;
    }
};

} // namespace weft
