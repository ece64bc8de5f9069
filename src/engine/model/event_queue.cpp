#include "engine/model/event_queue.hpp"

#include <algorithm>

namespace weft::engine {

namespace {

bool later(const event_queue::event& a, const event_queue::event& b) noexcept {
    return a.at != b.at ? a.at > b.at : a.in_order > b.in_order;
}

} // namespace

event_queue::number event_queue::push(time_ns at, void (*happen)(void*), void* to) {
    heap_.push_back({at, next_, happen, to});
    std::push_heap(heap_.begin(), heap_.end(), later);
    return next_++;
}

event_queue::event event_queue::remove_first() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const event first = heap_.back();
    heap_.pop_back();
    return first;
}

void event_queue::skip_cancelled() {
    while (!cancelled_.empty() && !heap_.empty() && cancelled_.erase(heap_.front().in_order)) remove_first();
}

event_queue::event event_queue::pop() {
    skip_cancelled();
    return remove_first();
}

} // namespace weft::engine
