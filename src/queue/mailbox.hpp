// Elements for one worker, first in first out: many senders, one receiver, no thieves.
//
// An inbox (injector.hpp) with the receiver's own chain behind it. The receiver takes all that lies in the
// inbox at once, oldest first, and gives it out one by one, so the order is kept and there is no limit on the
// number of elements. For one element, the common case, put() is one compare-exchange and take() one
// exchange; take() of an empty mailbox is two loads. Any thread may call put() and empty(), and put() also in
// a signal handler; it is lock-free and does not allocate. take(): one thread at a time, the receiver; this
// may move if the move itself synchronizes.
//
//   word       | writer                        | readers        | order
//   inbox_     | senders, the receiver         | any thread     | see injector.hpp
//   at_hand_   | receiver                      | receiver       | plain
//   more_      | receiver                      | any thread     | relaxed: a hint for others (I3)
//
// I1: the elements, oldest first, are those of at_hand_ followed by those of inbox_.
// I2: every element that was put is taken exactly once, after all that were put before it; the receiver sees
//     all that was written before it was put.
// I3: a put() that is followed by a seq_cst fence is seen by take() and empty() of every thread that has
//     passed a later seq_cst fence. (While the receiver moves elements from the inbox to its hand, empty() of
//     another thread may miss them: they belong to the receiver then.)
//
// Reclamation: none. Elements belong to the caller; only the receiver follows a link.
#pragma once

#include <cstdint>

#include "queue/cache_line.hpp"
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

    // Any thread. True if the inbox was empty: then the caller must see to it that the receiver looks.
    bool put(T* element) noexcept { return inbox_.push(element); }

    // Receiver: the oldest element (I1), null if there is none.
    T* take() noexcept {
        if (at_hand_.empty()) at_hand_ = inbox_.take_all(); // synchronizes with the senders (I2)
        T* const oldest = at_hand_.pop_front();
        // relaxed: only the receiver writes it; for others it is a hint (I3)
        if (at_hand_.empty() != (more_.load(std::memory_order::relaxed) == 0)) {
            more_.store(at_hand_.empty() ? 0 : 1, std::memory_order::relaxed);
        }
        return oldest;
    }

    // Exact for the receiver, a hint for others. relaxed: no data is read because of it (I3)
    bool empty() const noexcept { return inbox_.empty() && more_.load(std::memory_order::relaxed) == 0; }

private:
    injector<T, Sync, Link> inbox_;
    chain<T, Link> at_hand_;
    typename Sync::template atomic<std::uint32_t> more_{0}; // 1: at_hand_ is not empty
};

} // namespace weft::queue
