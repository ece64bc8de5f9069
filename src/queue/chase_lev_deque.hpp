// A deque of pointers with one owner and any number of thieves.
//
//   D. Chase, Y. Lev: Dynamic circular work-stealing deque. SPAA 2005.
//   N. M. Le, A. Pop, A. Cohen, F. Zappa Nardelli: Correct and efficient work-stealing for weak memory
//   models. PPoPP 2013 (the memory orders are theirs, except for publication: I2).
//
// The owner pushes and pops at the bottom (last in, first out) and may take from the top too (first in, first
// out). Thieves steal at the top. "The owner" is one thread at a time: ownership may move if the move itself
// synchronizes. push, pop, pop_top: owner only. steal, size, empty: any thread.
//
//   word        | writer                        | readers         | order
//   bottom_     | owner                         | owner           | relaxed
//               |                               | thieves         | release store, acquire load
//   top_        | steal, pop, pop_top (CAS)     | any thread      | seq_cst CAS, acquire or relaxed load
//   ring_       | owner (construction, growth)  | thieves         | release store, acquire load
//   slots       | owner                         | owner, thieves  | relaxed, ordered by bottom_ and top_
//   top_seen_   | owner                         | owner           | plain
//
// I1: the elements are those at the indexes [top_, bottom_); index i lives in slot i modulo the capacity.
//     Only inside pop may bottom_ be top_ - 1.
// I2: a thief that reads bottom_ > i sees the slot of i, and all that was written before it was pushed. EVERY
//     store to bottom_ is a release, those of pop too: a thief may read the value that a pop stored, and
//     since C++20 a later plain store of the same thread does not carry on the release sequence of the push.
//     (The paper has a release fence in push, which covers later stores; race detectors do not understand
//     fences.)
// I3: top_ only grows, by one, by CAS: each index is won once. A slot is written again only after the owner
//     has read a top_ beyond its index. The acquire of that read pairs with the CAS that took the index, so
//     the thread that took index i has read its slot before the slot changes. A thread that reads a changed
//     slot loses its CAS.
// I4: pop stores bottom_ then loads top_, steal loads top_ then bottom_, each with a seq_cst fence between: a
//     thief and the owner cannot both miss the other and take the same element without the CAS.
// I5: top_seen_ <= top_, so a push that finds room by top_seen_ has room.
// I6: a ring left behind by growth is never written again; for every index in [top_, bottom_ at growth) it
//     holds the same element as its successor.
//
// Reclamation: a thief may still read a ring that growth left behind, so all rings are kept until the deque
// is destroyed. Each is half of its successor: those left behind have together fewer slots than the current
// one, which has at most max(initial capacity, 2 * the most elements ever held at once). Elements belong to
// the caller.
//
// Memory comes from the Memory hook (by default pages from the kernel), never from malloc. When there is
// none, push throws std::bad_alloc and the deque is as it was before.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>

#include "queue/cache_line.hpp"
#include "queue/page_memory.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

enum class steal_result : std::uint8_t {
    ok,    // an element was taken
    empty, // there was nothing to take
    lost,  // another thread took the element that was looked at: there may be more
};

template <class T, class Sync = std_sync, class Memory = page_memory>
class alignas(k_cache_line_bytes) chase_lev_deque {
    static_assert(std::is_pointer_v<T>, "elements are pointers");

public:
    static constexpr std::size_t k_initial_capacity = 256;

    // The capacity is rounded up to a power of two. Throws std::bad_alloc.
    explicit chase_lev_deque(std::size_t initial_capacity = k_initial_capacity)
        : ring_(make_ring(std::bit_ceil(initial_capacity), nullptr)) {}

    // No other thread may be inside.
    ~chase_lev_deque() {
        // relaxed: this thread is the last user
        ring* at = ring_.load(std::memory_order::relaxed);
        while (at != nullptr) {
            ring* const older = at->older;
            destroy_ring(at);
            at = older;
        }
    }

    chase_lev_deque(const chase_lev_deque&) = delete;
    chase_lev_deque& operator=(const chase_lev_deque&) = delete;

    // Owner. Not null. Throws std::bad_alloc before anything has changed.
    void push(T element) {
        assert(element != nullptr);
        // relaxed: only the owner writes these two
        const index bottom = bottom_.load(std::memory_order::relaxed);
        ring* at = ring_.load(std::memory_order::relaxed);
        if (bottom - top_seen_.get() >= at->capacity()) [[unlikely]] // I5
            at = make_room(at, bottom);
        // relaxed: published by the store below
        at->slot(bottom).store(element, std::memory_order::relaxed);
        // release: pairs with the acquire load of bottom_ in steal (I2)
        bottom_.store(bottom + 1, std::memory_order::release);
    }

    // Owner: the youngest element, null if there is none.
    T pop() noexcept {
        // relaxed: only the owner writes it
        const index bottom = bottom_.load(std::memory_order::relaxed) - 1;
        // relaxed: top_ only grows, so an old value can only say "maybe"; the look below decides
        if (bottom < top_.load(std::memory_order::relaxed)) return nullptr; // I1
        // relaxed: only the owner writes it
        ring* const at = ring_.load(std::memory_order::relaxed);
        // release: pairs with the acquire load of bottom_ in steal, for the elements below (I2)
        bottom_.store(bottom, std::memory_order::release);
        // seq_cst: the store of bottom_ before the load of top_, against the fence in steal (I4)
        Sync::fence(std::memory_order::seq_cst);
        // relaxed: ordered by the fence
        index top = top_.load(std::memory_order::relaxed);
        if (top < bottom) {
            // More than one: no thief that can still win looks at this element. relaxed: the owner wrote
            // the slot.
            return at->slot(bottom).load(std::memory_order::relaxed);
        }
        T element = nullptr;
        if (top == bottom) {
            // relaxed: the owner wrote the slot
            element = at->slot(bottom).load(std::memory_order::relaxed);
            // The last element: the owner races for it with the thieves. seq_cst: pairs with the CAS in
            // steal (I3); relaxed on failure: the thief took it, and nothing that the thief wrote is read
            if (!top_.compare_exchange_strong(top, top + 1, std::memory_order::seq_cst,
                                              std::memory_order::relaxed)) {
                element = nullptr;
            }
        }
        // release: pairs with the acquire load of bottom_ in steal (I2)
        bottom_.store(bottom + 1, std::memory_order::release);
        return element;
    }

    // Owner: the oldest element, null if there is none. It retries when it loses to a thief: each of them
    // took an element.
    T pop_top() noexcept {
        // relaxed: only the owner writes bottom_ and ring_; the CAS decides whether top_ was right
        const index bottom = bottom_.load(std::memory_order::relaxed);
        ring* const at = ring_.load(std::memory_order::relaxed);
        index top = top_.load(std::memory_order::relaxed);
        while (top < bottom) {
            // relaxed: the owner wrote the slot
            const T element = at->slot(top).load(std::memory_order::relaxed);
            // seq_cst: pairs with the CAS in steal (I3); relaxed on failure: only the new index is used
            if (top_.compare_exchange_strong(top, top + 1, std::memory_order::seq_cst,
                                             std::memory_order::relaxed)) {
                return element;
            }
        }
        return nullptr;
    }

    // Any thread: the oldest element into `out`, which is written only if the result is ok.
    steal_result steal(T& out) noexcept {
        // acquire: pairs with the CAS that took the element before (I3); bottom_ is read no older than that
        index top = top_.load(std::memory_order::acquire);
        // seq_cst: the load of top_ before the load of bottom_, against the fence in pop (I4)
        Sync::fence(std::memory_order::seq_cst);
        // acquire: pairs with the release stores of bottom_ in push and pop (I2)
        const index bottom = bottom_.load(std::memory_order::acquire);
        if (top >= bottom) return steal_result::empty;
        // acquire: pairs with the release store of ring_ in make_room (I6)
        ring* const at = ring_.load(std::memory_order::acquire);
        // relaxed: ordered by bottom_; if it has changed, the CAS fails (I3)
        const T element = at->slot(top).load(std::memory_order::relaxed);
        // seq_cst: pairs with the CAS in pop and the acquire of top_ in make_room (I3); relaxed on failure:
        // nothing is used
        if (!top_.compare_exchange_strong(top, top + 1, std::memory_order::seq_cst,
                                          std::memory_order::relaxed)) {
            return steal_result::lost;
        }
        out = element;
        return steal_result::ok;
    }

    // A hint: exact only for the owner while no thread steals.
    std::size_t size() const noexcept {
        // relaxed: hints, no data is read because of them. top_ first: it can only grow meanwhile
        const index top = top_.load(std::memory_order::relaxed);
        const index bottom = bottom_.load(std::memory_order::relaxed);
        return bottom > top ? static_cast<std::size_t>(bottom - top) : 0;
    }

    bool empty() const noexcept { return size() == 0; }

    // Owner: elements that fit before the next growth.
    std::size_t capacity() const noexcept {
        // relaxed: only the owner writes it
        return static_cast<std::size_t>(ring_.load(std::memory_order::relaxed)->capacity());
    }

private:
    using index = std::int64_t;
    using slot_word = typename Sync::template atomic<T>;

    // A header followed by its slots in one block.
    struct alignas(slot_word) ring {
        ring(std::size_t capacity, ring* before) noexcept
            : mask(static_cast<index>(capacity) - 1)
            , older(before) {}

        index capacity() const noexcept { return mask.get() + 1; }
        slot_word* slots() noexcept { return reinterpret_cast<slot_word*>(this + 1); }
        slot_word& slot(index at) noexcept { return slots()[at & mask.get()]; }

        typename Sync::template var<index> mask;
        ring* const older;
    };
    static_assert(sizeof(ring) % alignof(slot_word) == 0);

    static std::size_t bytes_of(std::size_t capacity) noexcept {
        return sizeof(ring) + capacity * sizeof(slot_word);
    }

    static ring* make_ring(std::size_t capacity, ring* before) {
        constexpr std::size_t most = (std::numeric_limits<index>::max() - sizeof(ring)) / sizeof(slot_word);
        if (capacity == 0 || capacity > most) throw std::bad_alloc();
        void* const memory = Memory::allocate(bytes_of(capacity));
        if (memory == nullptr) throw std::bad_alloc();
        ring* const made = ::new (memory) ring(capacity, before);
        for (std::size_t at = 0; at < capacity; ++at) ::new (made->slots() + at) slot_word(nullptr);
        return made;
    }

    static void destroy_ring(ring* old) noexcept {
        const auto capacity = static_cast<std::size_t>(old->capacity());
        for (std::size_t at = 0; at < capacity; ++at) old->slots()[at].~slot_word();
        old->~ring();
        Memory::release(old, bytes_of(capacity));
    }

    // Owner: reads how far the thieves are, and grows the ring if it is really full. Cold.
    [[gnu::noinline]] ring* make_room(ring* old, index bottom) {
        // acquire: pairs with the CAS of the thieves, which have read the slots below top (I3)
        const index top = top_.load(std::memory_order::acquire);
        top_seen_.set(top);
        if (bottom - top < old->capacity()) return old;
        ring* const grown = make_ring(static_cast<std::size_t>(old->capacity()) * 2, old);
        for (index at = top; at < bottom; ++at) {
            // relaxed: the owner wrote the old slots, and the new ones are published by the store below
            grown->slot(at).store(old->slot(at).load(std::memory_order::relaxed), std::memory_order::relaxed);
        }
        // release: pairs with the acquire load of ring_ in steal (I6)
        ring_.store(grown, std::memory_order::release);
        return grown;
    }

    alignas(k_cache_line_bytes) typename Sync::template atomic<index> top_{0};
    alignas(k_cache_line_bytes) typename Sync::template atomic<index> bottom_{0};
    typename Sync::template atomic<ring*> ring_;
    typename Sync::template var<index> top_seen_{0};
};

} // namespace weft::queue
