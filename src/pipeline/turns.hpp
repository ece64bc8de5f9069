// The order of a stage that takes items one at a time and in order: whose turn it is, and what waits.
//
// Items are numbered 0, 1, 2, ... Two threads meet in a cell for each item n: the one that brings the item, by enter(n),
// and the one that leaves the stage with the item before, by leave(n - 1). The second of the two has the turn of item n,
// and neither waits. One word a cell:
//
//   value      | written by                         | when
//   empty      | the second of the two              | before it goes on
//   open       | leave(n - 1), by an exchange       | when item n - 1 has left the stage
//   the item   | enter(n), by an exchange           | when item n has come
//
// I1: exactly one of the two exchanges finds what the other one has left: that thread has the turn.
// I2: the thread that has the turn sees what both threads have written before: the item, and what the stage has done for
//     the items before.
// I3: a cell is used for the items n, n + capacity, ... Fewer than `capacity` + 1 items are on their way at a time, so item
//     n + capacity is made after item n has left the stage, and the thread that makes it knows of that. The two threads that
//     meet for it find the cell empty.
#pragma once

#include "queue/sync.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::pipelines {

template <class Item, class Sync = queue::std_sync>
class turns {
public:
    /// Before a run, by one thread: at most `items` are on their way at a time. Item 0 has the turn.
    void reset(std::size_t items) {
        const std::size_t cells = std::bit_ceil(items);
        if (cells != capacity_) {
            cells_ = std::make_unique<cell[]>(cells);
            capacity_ = cells;
        }
        // relaxed: what starts the run publishes them
        for (std::size_t i = 0; i < cells; ++i)
            cells_[i].store(i == 0 ? open : empty, std::memory_order_relaxed);
    }

    /// Item `number` has come. True if it has the turn. If not, it belongs to the thread that will have the turn.
    bool enter(Item& item, std::uint64_t number) noexcept {
        cell& c = of(number);
        // One of the two finds the other (I1). release: the item, for the thread that finds it. acquire: what the stage has
        // done. Pairs with leave() (I2).
        if (c.exchange(reinterpret_cast<std::uintptr_t>(&item), std::memory_order_acq_rel) != open)
            return false;
        c.store(empty, std::memory_order_relaxed); // published with the turn (I3)
        return true;
    }

    /// Item `number` has left the stage. Returns the next one, which has the turn now, if it waits.
    Item* leave(std::uint64_t number) noexcept {
        cell& c = of(number + 1);
        // release: what the stage has done. acquire: the item. Pairs with enter() (I2).
        const std::uintptr_t found = c.exchange(open, std::memory_order_acq_rel);
        if (found == empty) return nullptr;
        c.store(empty, std::memory_order_relaxed); // as above
        return reinterpret_cast<Item*>(found);
    }

private:
    static constexpr std::uintptr_t empty = 0, open = 1; // items are aligned
    using cell = typename Sync::template atomic<std::uintptr_t>;

    cell& of(std::uint64_t number) noexcept { return cells_[number & (capacity_ - 1)]; }

    std::unique_ptr<cell[]> cells_;
    std::size_t capacity_ = 0;
};

} // namespace weft::pipelines
