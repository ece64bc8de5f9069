// An inbox: any thread puts elements in, and any thread takes them all out at once, oldest first.
//
//   R. K. Treiber: Systems programming: coping with parallelism. IBM RJ 5118, 1986 (the stack; here it is
//   only ever emptied as a whole, so the ABA problem of popping one element does not arise).
//
// Any thread may call push(), a worker or not, also in a signal handler; it is lock-free and does not
// allocate. Any thread may call take_all(), several at once; it is wait-free except for reversing the
// elements taken. Unlike in a linked queue with a dummy node, a producer that is descheduled in the middle of
// push() hides no other producer's element.
//
//   word          | writer                          | readers          | order
//   head_         | push (CAS)                      | take_all         | release; acquire by the exchange
//                 | take_all (exchange to null)     | push             | relaxed: a producer follows no link
//   hook.next     | push, before its CAS            | the taker        | plain, ordered by head_
//
// I1: head_ is the youngest element put in since the last take; `next` leads to older ones, ending in null.
// I2: every element comes out of exactly one take_all(), after all that was put in before it by the same
//     thread.
// I3: the thread that takes an element sees all that was written before it was pushed. (The acquire exchange
//     synchronizes with every push still in the stack, not only the last: each CAS carries on the release
//     sequences of those before.)
// I4: a push that is followed by a seq_cst fence is seen by empty() and take_all() of every thread that has
//     passed a later seq_cst fence.
//
// Reclamation: none. Elements belong to the caller; only the thread that took an element follows its link.
#pragma once

#include "queue/cache_line.hpp"
#include "queue/chain.hpp"
#include "queue/list_hook.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

template <class T, class Sync = std_sync, class Link = member_link>
class alignas(k_cache_line_bytes) injector {
public:
    injector() noexcept = default;
    injector(const injector&) = delete;
    injector& operator=(const injector&) = delete;

    // True if the inbox was empty: then the caller must see to it that a thread takes.
    bool push(T* element) noexcept {
        // relaxed: the producer links to the old head and never reads what it points to
        T* youngest = head_.load(std::memory_order::relaxed);
        do {
            Link::of(*element).next.set(youngest);
            // release: pairs with the acquire exchange in take_all (I3); relaxed on failure: as the load
            // above (I1)
        } while (!head_.compare_exchange_strong(youngest, element, std::memory_order::release,
                                                std::memory_order::relaxed));
        return youngest == nullptr;
    }

    // A hint. relaxed: no data is read because of it (I4)
    bool empty() const noexcept { return head_.load(std::memory_order::relaxed) == nullptr; }

    chain<T, Link> take_all() noexcept {
        chain<T, Link> oldest_first;
        if (empty()) return oldest_first;
        // acquire: pairs with the release CAS of every push since the last take (I3)
        T* youngest = head_.exchange(nullptr, std::memory_order::acquire); // one taker gets each element (I2)
        while (youngest != nullptr) {
            T* const older = static_cast<T*>(Link::of(*youngest).next.get());
            oldest_first.push_front(youngest);
            youngest = older;
        }
        return oldest_first;
    }

private:
    typename Sync::template atomic<T*> head_{nullptr};
};

} // namespace weft::queue
