// A private queue of elements, first in first out, linked through their hooks.
//
// A chain belongs to one thread. An inbox returns its elements as a chain, and a list accepts a chain at
// once. A chain neither allocates nor owns: elements left in a chain that is destroyed are no longer linked.
//
// I1: head_ is the oldest element and tail_ the youngest; both are null exactly when size_ is 0.
// I2: following `next` from head_ reaches tail_ after size_ - 1 steps.
#pragma once

#include <cstddef>
#include <utility>

#include "queue/list_hook.hpp"

namespace weft::queue {

template <class T, class Link = member_link>
class chain {
public:
    chain() noexcept = default;
    chain(chain&& other) noexcept
        : head_(std::exchange(other.head_, nullptr))
        , tail_(std::exchange(other.tail_, nullptr))
        , size_(std::exchange(other.size_, 0)) {}
    chain& operator=(chain&& other) noexcept {
        head_ = std::exchange(other.head_, nullptr);
        tail_ = std::exchange(other.tail_, nullptr);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

    bool empty() const noexcept { return head_ == nullptr; }
    std::size_t size() const noexcept { return size_; }
    T* front() const noexcept { return head_; }
    T* back() const noexcept { return tail_; }

    void push_back(T* element) noexcept {
        Link::of(*element).next.set(nullptr);
        if (tail_ == nullptr) {
            head_ = element;
        } else {
            Link::of(*tail_).next.set(element);
        }
        tail_ = element;
        ++size_;
    }

    void push_front(T* element) noexcept {
        Link::of(*element).next.set(head_);
        head_ = element;
        if (tail_ == nullptr) tail_ = element;
        ++size_;
    }

    // All elements of `other`, behind those that are here (I2).
    void push_back(chain&& other) noexcept {
        if (other.head_ == nullptr) return;
        if (tail_ == nullptr) {
            head_ = other.head_;
        } else {
            Link::of(*tail_).next.set(other.head_);
        }
        tail_ = std::exchange(other.tail_, nullptr);
        other.head_ = nullptr;
        size_ += std::exchange(other.size_, 0);
    }

    // Null if empty.
    T* pop_front() noexcept {
        T* const element = head_;
        if (element == nullptr) return nullptr;
        head_ = static_cast<T*>(Link::of(*element).next.get());
        if (head_ == nullptr) tail_ = nullptr; // I1
        --size_;
        return element;
    }

    template <class F>
    void for_each(F&& f) const {
        for (T* t = head_; t != nullptr; t = static_cast<T*>(Link::of(*t).next.get())) f(*t);
    }

private:
    T* head_ = nullptr;
    T* tail_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace weft::queue
