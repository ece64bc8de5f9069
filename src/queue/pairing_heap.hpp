// A priority queue of elements that contain their links.
//
//   M. L. Fredman, R. Sedgewick, D. D. Sleator, R. E. Tarjan: The pairing heap. Algorithmica 1, 1986.
//
// push() is one comparison, pop() takes logarithmic time, amortized; no operation allocates. A heap belongs
// to one thread, or to the holder of the lock beside it.
//
// I1: no element comes before (`Before`) any of its ancestors.
// I2: in the hook of an element, `prev` is its first child and `next` its next sibling.
//
// Reclamation: none. Elements belong to the caller.
#pragma once

#include <cstddef>
#include <utility>

#include "queue/list_hook.hpp"

namespace weft::queue {

template <class T, class Before, class Link = member_link>
class pairing_heap {
public:
    bool empty() const noexcept { return root_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    const T* top() const noexcept { return root_; } // what pop() would give; null if empty

    void push(T* element) noexcept {
        Link::of(*element).next.set(nullptr);
        Link::of(*element).prev.set(nullptr);
        root_ = root_ == nullptr ? element : meld(root_, element);
        ++size_;
    }

    // The element that comes before all others (I1: the root); null if empty.
    T* pop() noexcept {
        T* const first = root_;
        if (first == nullptr) return nullptr;
        --size_;
        // Meld its children in pairs, from left to right; then all pairs into one, from right to left.
        T* pairs = nullptr;
        for (T* left = child(*first); left != nullptr;) {
            T* const right = next(*left);
            T* const rest = right == nullptr ? nullptr : next(*right);
            T* const both = right == nullptr ? left : meld(left, right);
            Link::of(*both).next.set(pairs);
            pairs = both;
            left = rest;
        }
        root_ = nullptr;
        while (pairs != nullptr) {
            T* const rest = next(*pairs);
            root_ = root_ == nullptr ? pairs : meld(root_, pairs);
            pairs = rest;
        }
        if (root_ != nullptr) Link::of(*root_).next.set(nullptr);
        return first;
    }

private:
    // I2
    static T* child(T& t) noexcept { return static_cast<T*>(Link::of(t).prev.get()); }
    static T* next(T& t) noexcept { return static_cast<T*>(Link::of(t).next.get()); }

    static T* meld(T* a, T* b) noexcept {
        if (Before{}(*b, *a)) std::swap(a, b);
        Link::of(*b).next.set(child(*a));
        Link::of(*a).prev.set(b);
        return a;
    }

    T* root_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace weft::queue
