// A double-ended list of elements under one lock: central pools, root queues, the queue of yielded tasks.
//
// The links are in the elements, so a list of a million elements costs no memory beyond them and no operation
// allocates. Any thread may call any function. Except for the searching ones, every operation is a few
// instructions under the lock.
//
//   word            | writer          | readers          | order
//   head_, tail_    | holder of lock_ | holder of lock_  | plain, ordered by lock_
//   hooks inside    | holder of lock_ | holder of lock_  | plain, ordered by lock_
//   size_           | holder of lock_ | any thread       | relaxed: outside of the lock it is a hint
//
// I1: following `next` from head_ and `prev` from tail_ visits the same size_ elements in opposite
//     directions.
// I2: an element is in one container at a time; the thread that popped it sees all that was written before it
//     was pushed.
// I3: a push that is followed by a seq_cst fence is seen by empty() and try_pop_*() of every thread that has
//     passed a later seq_cst fence: a thread that sleeps after such a look has not missed the element.
//
// Reclamation: none. Elements belong to the caller. When the list is destroyed it must be empty, or its
// elements are no longer used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "queue/cache_line.hpp"
#include "queue/chain.hpp"
#include "queue/list_hook.hpp"
#include "queue/spin_lock.hpp"
#include "queue/sync.hpp"

namespace weft::queue {

template <class T, class Sync = std_sync, class Link = member_link>
class alignas(k_cache_line_bytes) locked_list {
public:
    locked_list() noexcept = default;
    locked_list(const locked_list&) = delete;
    locked_list& operator=(const locked_list&) = delete;

    // A hint: the number at some moment near this one. relaxed: no data is read because of it (I3)
    std::size_t size() const noexcept {
        return static_cast<std::size_t>(size_.load(std::memory_order::relaxed));
    }
    bool empty() const noexcept { return size() == 0; }

    void push_front(T* element) noexcept {
        const guard held(lock_);
        T* const old = static_cast<T*>(head_.get());
        hook(element).prev.set(nullptr);
        hook(element).next.set(old);
        (old == nullptr ? tail_ : hook_prev(old)).set(element);
        head_.set(element);
        count(1);
    }

    void push_back(T* element) noexcept {
        const guard held(lock_);
        link_back(element);
        count(1);
    }

    // All elements of a chain, in its order, at once.
    void push_back(chain<T, Link>&& elements) noexcept {
        if (elements.empty()) return;
        const guard held(lock_);
        const std::size_t added = elements.size();
        while (T* const element = elements.pop_front()) link_back(element);
        count(static_cast<std::int64_t>(added));
    }

    // Null if empty.
    T* pop_front() noexcept {
        const guard held(lock_);
        return unlink(static_cast<T*>(head_.get()));
    }

    // Null if empty.
    T* pop_back() noexcept {
        const guard held(lock_);
        return unlink(static_cast<T*>(tail_.get()));
    }

    // Like pop_front and pop_back, but on an empty list they neither write nor wait for the lock.
    T* try_pop_front() noexcept { return empty() ? nullptr : pop_front(); }
    T* try_pop_back() noexcept { return empty() ? nullptr : pop_back(); }

    // The first element, seen from the front, for which `wanted(const T&)` holds. Takes time in
    // proportion to the elements passed over, all of it under the lock.
    template <class Predicate>
    T* pop_first_if(Predicate&& wanted) noexcept {
        if (empty()) return nullptr;
        const guard held(lock_);
        T* element = static_cast<T*>(head_.get());
        while (element != nullptr && !wanted(std::as_const(*element))) {
            element = static_cast<T*>(hook(element).next.get());
        }
        return unlink(element);
    }

    // The same, seen from the back.
    template <class Predicate>
    T* pop_last_if(Predicate&& wanted) noexcept {
        if (empty()) return nullptr;
        const guard held(lock_);
        T* element = static_cast<T*>(tail_.get());
        while (element != nullptr && !wanted(std::as_const(*element))) {
            element = static_cast<T*>(hook(element).prev.get());
        }
        return unlink(element);
    }

    // The element for which `key(const T&)` is least; of several, the first seen from the front. Takes time
    // in proportion to the length of the list, all of it under the lock.
    template <class Key>
    T* pop_least(Key&& key) noexcept {
        if (empty()) return nullptr;
        const guard held(lock_);
        T* least = static_cast<T*>(head_.get());
        if (least == nullptr) return nullptr;
        auto value = key(std::as_const(*least));
        T* element = least;
        while ((element = static_cast<T*>(hook(element).next.get())) != nullptr) {
            const auto other = key(std::as_const(*element));
            if (!(other < value)) continue;
            value = other;
            least = element;
        }
        return unlink(least);
    }

    // Calls `seen(const T&)` for each element, from front to back, under the lock.
    template <class Visitor>
    void visit(Visitor&& seen) noexcept {
        if (empty()) return;
        const guard held(lock_);
        for (T* element = static_cast<T*>(head_.get()); element != nullptr;
             element = static_cast<T*>(hook(element).next.get())) {
            seen(std::as_const(*element));
        }
    }

private:
    using lock_type = spin_lock<Sync>;
    using guard = std::lock_guard<lock_type>;
    using link_word = typename Sync::template var<void*>;

    static auto& hook(T* element) noexcept { return Link::of(*element); }
    static link_word& hook_prev(T* element) noexcept { return hook(element).prev; }
    static link_word& hook_next(T* element) noexcept { return hook(element).next; }

    void link_back(T* element) noexcept {
        T* const old = static_cast<T*>(tail_.get());
        hook(element).next.set(nullptr);
        hook(element).prev.set(old);
        (old == nullptr ? head_ : hook_next(old)).set(element);
        tail_.set(element);
    }

    // Under the lock, which publishes the element to the caller (I2). Keeps both directions alike (I1).
    T* unlink(T* element) noexcept {
        if (element == nullptr) return nullptr;
        T* const before = static_cast<T*>(hook(element).prev.get());
        T* const after = static_cast<T*>(hook(element).next.get());
        (before == nullptr ? head_ : hook_next(before)).set(after);
        (after == nullptr ? tail_ : hook_prev(after)).set(before);
        count(-1);
        return element;
    }

    void count(std::int64_t change) noexcept {
        // relaxed: only the holder of the lock writes; for readers outside of it it is a hint (I3)
        const std::int64_t old = size_.load(std::memory_order::relaxed);
        size_.store(old + change, std::memory_order::relaxed);
    }

    lock_type lock_;
    link_word head_{nullptr};
    link_word tail_{nullptr};
    typename Sync::template atomic<std::int64_t> size_{0};
};

} // namespace weft::queue
