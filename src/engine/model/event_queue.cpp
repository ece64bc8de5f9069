#include "engine/model/event_queue.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace weft::engine {

namespace {

/// A type, so that the heap's functions compare without a call.
constexpr auto later = [](const event_queue::event& a, const event_queue::event& b) noexcept {
    return a.at != b.at ? a.at > b.at : a.in_order > b.in_order;
};

} // namespace

event_queue::number event_queue::push(time_ns at, void (*happen)(void*), void* to) {
    const event e{at, next_, happen, to};
    if (std::exchange(first_is_gone_, false)) {
        replace_first(e);
    } else { // one that comes to the front is not cancelled either
        heap_.push_back(e);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    return next_++;
}

/// The heap property holds but for the first event.
void event_queue::replace_first(const event& e) {
    std::size_t at = 0;
    for (std::size_t next = 1; next < heap_.size(); next = 2 * at + 1) {
        if (next + 1 < heap_.size() && later(heap_[next], heap_[next + 1])) ++next;
        if (!later(e, heap_[next])) break;
        heap_[at] = heap_[next];
        at = next;
    }
    heap_[at] = e;
}

void event_queue::remove_first() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
}

void event_queue::cancel(number n) {
    cancelled_.insert(n);
    first_is_due_ = false;
}

void event_queue::skip_cancelled() {
    if (first_is_due_) return;
    if (std::exchange(first_is_gone_, false)) remove_first();
    while (!cancelled_.empty() && !heap_.empty() && cancelled_.erase(heap_.front().in_order)) remove_first();
    first_is_due_ = !heap_.empty();
}

event_queue::event event_queue::pop() {
    skip_cancelled();
    first_is_due_ = false;
    first_is_gone_ = true;
    return heap_.front();
}

} // namespace weft::engine
