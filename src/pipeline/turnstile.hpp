// A stage that takes items one at a time, in any order: a lock whose waiters are items, not threads.
//
//   word      | writer                                   | value
//   word_     | enter: free to held, or adds an item     | free, held, or held with the youngest item that waits
//             | leave: held to free, or takes all items  |
//   hook.next | enter, before its CAS                    | the item before it; plain, ordered by word_
//   waiting_  | the thread that has the stage            | items taken out of word_, oldest first; plain
//
// I1: one thread has the stage from the CAS of enter(), or from leave() that returned its item, until leave().
// I2: that thread sees what the stage has done before, and what was written before its item came. (The acquire exchange
//     synchronizes with every enter() since the last one, not only the last: each CAS carries on the release sequences of
//     those before.)
// I3: an item that came is returned by exactly one leave(), or has the stage at once. A CAS of leave() to `free` fails if
//     an item came meanwhile.
//
// An item that waits is older in waiting_ than in word_, so items leave in the order of their arrival.
#pragma once

#include "queue/chain.hpp"
#include "queue/list_hook.hpp"
#include "queue/sync.hpp"

#include <cstdint>
#include <utility>

namespace weft::pipelines {

template <class Item, class Sync = queue::std_sync>
class turnstile {
public:
    /// Before a run, by one thread. If `held`, the caller has the stage, and these items wait.
    void reset(bool is_held, queue::chain<Item> waiting) noexcept {
        word_.store(is_held ? held : free, std::memory_order_relaxed); // what starts the run publishes it
        waiting_ = std::move(waiting);
    }

    /// The item has come. True if it has the stage. If not, it belongs to the thread that has it.
    bool enter(Item& item) noexcept {
        std::uintptr_t found = word_.load(std::memory_order_relaxed); // the CAS decides
        for (;;) {
            if (found == free) {
                // The caller has the stage from here on (I1). acquire: what the stage has done. Pairs with the CAS in
                // leave() (I2).
                if (word_.compare_exchange_strong(found, held, std::memory_order_acquire,
                                                  std::memory_order_relaxed))
                    return true;
                continue;
            }
            item.queue_link.next.set(found == held ? nullptr : reinterpret_cast<Item*>(found));
            // release: the item and its link. Pairs with the exchange in leave() (I2).
            if (word_.compare_exchange_strong(found, reinterpret_cast<std::uintptr_t>(&item),
                                              std::memory_order_release, std::memory_order_relaxed))
                return false;
        }
    }

    /// The thread that has the stage leaves it. Returns the oldest item that waits, which has the stage now.
    Item* leave() noexcept {
        if (Item* const next = waiting_.pop_front()) return next;
        std::uintptr_t found = held;
        // release: what the stage has done. Pairs with the CAS in enter() (I2, I3).
        if (word_.compare_exchange_strong(found, free, std::memory_order_release, std::memory_order_relaxed))
            return nullptr;
        // acquire: the items. Pairs with the CAS in enter() (I2).
        auto* youngest = reinterpret_cast<Item*>(word_.exchange(held, std::memory_order_acquire));
        while (youngest) {
            auto* const older = static_cast<Item*>(youngest->queue_link.next.get());
            waiting_.push_front(youngest);
            youngest = older;
        }
        return waiting_.pop_front();
    }

private:
    static constexpr std::uintptr_t free = 0, held = 1; // items are aligned

    typename Sync::template atomic<std::uintptr_t> word_{free};
    queue::chain<Item> waiting_;
};

} // namespace weft::pipelines
