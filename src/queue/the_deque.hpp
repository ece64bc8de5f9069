// A deque of pointers with one owner, any number of thieves, and a far end at which any thread may push.
//
//   M. Frigo, C. E. Leiserson, K. H. Randall: The implementation of the Cilk-5 multithreaded language. PLDI
//   1998 (the THE protocol, after Dijkstra's mutual exclusion: tail, head, exception; here near_end_, head_
//   and claim_). S. Shiina, K. Taura: Almost deterministic work stealing. SC 2019 (the far-end push, by which
//   a task that migrates becomes the oldest of its new worker).
//
// The owner pushes and pops at the near end (last in, first out). It takes the lock only if it meets a thief
// or the near part is empty. Thieves steal at the far end, under the lock. Any thread may push at the far
// end: the element pushed far last is stolen first, and the owner reaches it last. push, pop: owner only;
// ownership may move if the move itself synchronizes. push_far, steal, size, empty: any thread.
//
// There are two parts. near holds what the owner pushed, in a ring that the owner fills without the lock. far
// holds what was pushed far, in a ring that is only touched under the lock. Every far element is further away
// than every near element: thieves empty far first, the owner empties near first. So only the owner ever
// writes a slot of near, whichever thread pushes where.
//
//   word        | writer                         | readers         | order
//   near_end_   | owner                          | owner           | relaxed
//               |                                | thieves         | release store, acquire load
//   claim_      | thieves, under the lock        | owner           | relaxed, ordered by fences (I3)
//   head_       | thieves, under the lock        | owner           | release store; acquire in make_room (I4)
//               |                                | any thread      | relaxed
//   near ring   | owner (growth under the lock)  | owner           | plain
//               |                                | thieves         | plain, under the lock
//   near slots  | owner                          | owner, thieves  | plain, by near_end_ (I2) and head_ (I4)
//   head_seen_  | owner                          | owner           | plain
//   far ring    | holder of the lock             | holder          | plain
//   far_count_  | holder of the lock             | any thread      | relaxed: outside of the lock a hint (I5)
//
// I1: the near elements are those at the indexes [head_, near_end_); index i lives in slot i modulo the
//     capacity. Only inside pop may near_end_ be head_ - 1.
// I2: a thief that reads near_end_ > i sees the slot of i, and all that was written before it was pushed.
//     EVERY store to near_end_ is a release, those of pop too, as in chase_lev_deque.hpp.
// I3: pop stores near_end_ then loads claim_, steal stores claim_ then loads near_end_, each with a seq_cst
//     fence between: a thief and the owner cannot both miss the other. The one that sees the other yields:
//     the thief takes its claim back; the owner takes the lock, inside which there is no claim.
// I4: head_ only grows; a thief writes it after it has read the slot. The owner writes a slot again only
//     after it has read a head_ beyond its index, in make_room, whose acquire pairs with that store.
// I5: a push or push_far that is followed by a seq_cst fence is seen by pop, steal and empty() of every
//     thread that has passed a later seq_cst fence. (While the owner is popping the only element, steal may
//     report that there is none; the owner gets it then.)
// I6: head_seen_ <= head_, so a push that finds room by head_seen_ has room.
//
// Reclamation: except by the owner, rings are read under the lock only, and they are replaced under the lock
// by its holder (near: the owner), so an old ring is freed at once. Elements belong to the caller.
//
// There is no fixed capacity: both rings double. Memory comes from the Memory hook (by default pages from the
// kernel), never from malloc. When there is none, push and push_far throw std::bad_alloc and the deque is as
// it was before.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "queue/cache_line.hpp"
#include "queue/page_memory.hpp"
#include "queue/spin_lock.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

template <class T, class Sync = std_sync, class Memory = page_memory>
class alignas(k_cache_line_bytes) the_deque {
    static_assert(std::is_pointer_v<T>, "elements are pointers");

public:
    static constexpr std::size_t k_initial_capacity = 256;
    static constexpr std::size_t k_first_far_capacity = 16; // the far part has none before the first push_far

    // Of the near part; rounded up to a power of two. Throws std::bad_alloc.
    explicit the_deque(std::size_t initial_capacity = k_initial_capacity)
        : near_(std::bit_ceil(initial_capacity)) {}

    the_deque(const the_deque&) = delete;
    the_deque& operator=(const the_deque&) = delete;

    // Owner. Not null. Throws std::bad_alloc before anything has changed.
    void push(T element) {
        assert(element != nullptr);
        // relaxed: only the owner writes it
        const index end = near_end_.load(std::memory_order::relaxed);
        if (end - head_seen_.get() >= near_.capacity()) [[unlikely]] // I6
            make_room(end);
        near_.slot(end).set(element);
        // release: pairs with the acquire loads of near_end_ in steal (I2)
        near_end_.store(end + 1, std::memory_order::release);
    }

    // Owner: the nearest element, null if there is none at all.
    T pop() noexcept {
        // relaxed: only the owner writes it
        const index end = near_end_.load(std::memory_order::relaxed);
        // relaxed: head_ never passes near_end_, so if they are equal, near is empty for good
        if (head_.load(std::memory_order::relaxed) == end) {
            // relaxed: a hint (I5)
            return far_count_.load(std::memory_order::relaxed) == 0 ? nullptr : pop_far();
        }
        const index last = end - 1;
        // release: pairs with the acquire loads of near_end_ in steal, for the elements below (I2)
        near_end_.store(last, std::memory_order::release);
        // seq_cst: the store of near_end_ before the load of claim_, against the fence in steal (I3)
        Sync::fence(std::memory_order::seq_cst);
        // relaxed: ordered by the fence (I3); nothing that the thief wrote is read
        if (claim_.load(std::memory_order::relaxed) <= last) return near_.slot(last).get();
        return pop_met(last);
    }

    // Any thread: `element` becomes the furthest one. Not null. Throws std::bad_alloc before anything has
    // changed.
    void push_far(T element) {
        assert(element != nullptr);
        const guard held(lock_);
        const index end = far_end_.get();
        if (end - far_begin_.get() >= far_.capacity()) far_.grow(far_begin_.get(), end);
        far_.slot(end).set(element);
        far_end_.set(end + 1);
        count_far();
    }

    // Any thread: the furthest element, null if there is none.
    T steal() noexcept {
        if (empty()) return nullptr;
        const guard held(lock_);
        if (far_begin_.get() != far_end_.get()) {
            far_end_.set(far_end_.get() - 1);
            count_far();
            return far_.slot(far_end_.get()).get();
        }
        // relaxed: only written under the lock
        const index head = head_.load(std::memory_order::relaxed);
        // relaxed: ordered by the fence below (I3)
        claim_.store(head + 1, std::memory_order::relaxed);
        // seq_cst: the store of claim_ before the load of near_end_, against the fence in pop (I3)
        Sync::fence(std::memory_order::seq_cst);
        // acquire: pairs with the release stores of near_end_ in push and pop (I2)
        if (head >= near_end_.load(std::memory_order::acquire)) {
            // relaxed: an owner that reads it between the two stores takes the lock
            claim_.store(head, std::memory_order::relaxed);
            return nullptr;
        }
        const T element = near_.slot(head).get();
        // release: pairs with the acquire load of head_ in make_room: the slot was read (I4)
        head_.store(head + 1, std::memory_order::release);
        return element;
    }

    // Hints: exact while no other thread is inside.
    std::size_t size() const noexcept {
        // relaxed: hints, no data is read because of them. head_ first: it can only grow meanwhile
        const index head = head_.load(std::memory_order::relaxed);
        const index end = near_end_.load(std::memory_order::relaxed);
        const std::int64_t far = far_count_.load(std::memory_order::relaxed);
        return static_cast<std::size_t>((end > head ? end - head : 0) + far);
    }
    bool empty() const noexcept { return size() == 0; }

    // Owner: elements that fit into the near part before its next growth.
    std::size_t capacity() const noexcept { return static_cast<std::size_t>(near_.capacity()); }

private:
    using index = std::int64_t;
    using guard = std::lock_guard<spin_lock<Sync>>;

    // Slots for a range of indexes no longer than the capacity, which is 0 or a power of two.
    class ring {
    public:
        ring() noexcept = default;
        explicit ring(std::size_t capacity) { allocate(static_cast<index>(capacity)); }
        ring(const ring&) = delete;
        ring& operator=(const ring&) = delete;
        // No other thread may be inside.
        ~ring() { release(slots_.get(), capacity()); }

        index capacity() const noexcept { return capacity_.get(); }
        auto& slot(index at) noexcept { return slots_.get()[at & (capacity() - 1)]; }

        // Twice as many slots, with the elements of [begin, end) in theirs. Throws before anything has
        // changed.
        void grow(index begin, index end) {
            const index old_capacity = capacity();
            slot_word* const old = slots_.get();
            allocate(old_capacity == 0 ? index{k_first_far_capacity} : old_capacity * 2);
            for (index at = begin; at < end; ++at) slot(at).set(old[at & (old_capacity - 1)].get());
            release(old, old_capacity);
        }

    private:
        using slot_word = typename Sync::template var<T>;

        void allocate(index capacity) {
            constexpr index most = std::numeric_limits<index>::max() / index{sizeof(slot_word)};
            if (capacity <= 0 || capacity > most) throw std::bad_alloc();
            void* const memory = Memory::allocate(static_cast<std::size_t>(capacity) * sizeof(slot_word));
            if (memory == nullptr) throw std::bad_alloc();
            auto* const slots = static_cast<slot_word*>(memory);
            for (index at = 0; at < capacity; ++at) ::new (slots + at) slot_word(nullptr);
            slots_.set(slots);
            capacity_.set(capacity);
        }
        static void release(slot_word* slots, index capacity) noexcept {
            if (slots == nullptr) return;
            for (index at = 0; at < capacity; ++at) slots[at].~slot_word();
            Memory::release(slots, static_cast<std::size_t>(capacity) * sizeof(slot_word));
        }

        typename Sync::template var<slot_word*> slots_{nullptr};
        typename Sync::template var<index> capacity_{0};
    };

    // Owner: reads how far the thieves are, and grows near if it is really full. Cold.
    [[gnu::noinline]] void make_room(index end) {
        // acquire: pairs with the release store of head_ in steal: the thieves have read the slots below (I4)
        head_seen_.set(head_.load(std::memory_order::acquire));
        if (end - head_seen_.get() < near_.capacity()) return;
        const guard held(lock_); // no thief is inside
        // relaxed: only written under the lock
        near_.grow(head_.load(std::memory_order::relaxed), end);
    }

    // Owner: the element at `last`, which a thief may have been about to take. near_end_ is `last` (I1).
    [[gnu::noinline]] T pop_met(index last) noexcept {
        const guard held(lock_); // there is no claim now
        // relaxed: only written under the lock
        if (head_.load(std::memory_order::relaxed) <= last) return near_.slot(last).get();
        // release: as all stores to near_end_ (I2)
        near_end_.store(last + 1, std::memory_order::release);
        return take_first_far();
    }

    [[gnu::noinline]] T pop_far() noexcept {
        const guard held(lock_);
        return take_first_far();
    }

    // Under the lock: the nearest of far, null if there is none.
    T take_first_far() noexcept {
        const index begin = far_begin_.get();
        if (begin == far_end_.get()) return nullptr;
        far_begin_.set(begin + 1);
        count_far();
        return far_.slot(begin).get();
    }

    void count_far() noexcept {
        // relaxed: only the holder of the lock writes, and readers take it as a hint (I5)
        far_count_.store(far_end_.get() - far_begin_.get(), std::memory_order::relaxed);
    }

    // Written by thieves and by threads that push far.
    alignas(k_cache_line_bytes) spin_lock<Sync> lock_;
    typename Sync::template atomic<index> claim_{0}; // head_, and one more while a thief is deciding
    typename Sync::template atomic<index> head_{0};
    typename Sync::template atomic<std::int64_t> far_count_{0};
    typename Sync::template var<index> far_begin_{0};
    typename Sync::template var<index> far_end_{0};
    ring far_;
    // Written by the owner.
    alignas(k_cache_line_bytes) typename Sync::template atomic<index> near_end_{0};
    typename Sync::template var<index> head_seen_{0};
    ring near_;
};

} // namespace weft::queue
