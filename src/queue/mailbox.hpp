// Elements for one worker, first in first out: many senders, one receiver, no thieves.
//
// An inbox (injector.hpp) with the receiver's own chain behind it. What lies in the inbox is taken out all at
// once, oldest first, and given out one by one, so order is kept and no number of elements is too many. Of
// one element, the common case, putting is one compare-exchange and taking one exchange; taking of an empty
// mailbox is two loads. put() and empty() may be called by any thread, put() in a signal handler too; it is
// lock-free and does not allocate. take(): one thread at a time, the receiver; this may move if the move
// itself synchronizes.
//
//   word       | writer                        | readers        | order
//   inbox_     | senders, the receiver         | anybody        | see injector.hpp
//   at_hand_   | receiver                      | receiver       | plain
//   more_      | receiver                      | anybody        | relaxed: a hint for others (I3)
//
// I1: the elements, oldest first, are those of at_hand_ followed by those of inbox_.
// I2: every element that was put is taken exactly once, after all that were put before it; its taker sees all
//     that was written before it was put.
// I3: a put() that is followed by a seq_cst fence is seen by take() and empty() of every thread that has
// passed
//     a later seq_cst fence. (While the receiver moves elements from the inbox to its hand, empty() of
//     another thread may miss them: they are the receiver's then.)
//
// Reclamation: none. Elements belong to the caller; a link is followed only by the receiver.
#pragma once

#include <cstdint>

#include "queue/chain.hpp"
#include "queue/injector.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

template <class T, class Sync = std_sync, class Link = member_link>
class alignas(k_cache_line_bytes) mailbox {
public:
    mailbox() noexcept = default;
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;

    // Anybody. True if nothing was in the inbox: the one who must see to it that the receiver looks.
    bool put(T* element) noexcept { return inbox_.push(element); }

    // Receiver: the oldest element, null if there is none.
    T* take() noexcept {
        if (at_hand_.empty()) at_hand_ = inbox_.take_all();
        T* const oldest = at_hand_.pop_front();
        // relaxed: only the receiver writes it, and others take it as a hint (I3)
        if (at_hand_.empty() != (more_.load(std::memory_order::relaxed) == 0)) {
            more_.store(at_hand_.empty() ? 0 : 1, std::memory_order::relaxed);
        }
        return oldest;
    }

    // Exact for the receiver, for others a hint. relaxed: nothing is read on the strength of it (I3)
    bool empty() const noexcept { return inbox_.empty() && more_.load(std::memory_order::relaxed) == 0; }

private:
    injector<T, Sync, Link> inbox_;
    chain<T, Link> at_hand_;
    typename Sync::template atomic<std::uint32_t> more_{0}; // 1: at_hand_ is not empty
};

} // namespace weft::queue
