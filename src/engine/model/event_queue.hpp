#pragma once

#include "task/task.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace weft::engine {

/// Events in the order of virtual time; those of the same time in the order in which they were pushed. Both
/// orders are the same in every run: nothing depends on addresses or on a real clock.
class event_queue {
public:
    using number = std::uint64_t;

    struct event {
        time_ns at = 0;
        number in_order = 0;
        void (*happen)(void* to) = nullptr; ///< null: `to` is a worker that is resumed
        void* to = nullptr;
    };

    /// Requires: `at` is not before the time of the event that was popped last.
    number push(time_ns at, void (*happen)(void*), void* to);
    void cancel(number n);
    bool empty() {
        if (first_is_gone_ && cancelled_.empty()) return heap_.size() == 1;
        return skip_cancelled(), heap_.empty();
    }
    /// Requires, as pop() does: the queue is not empty.
    time_ns next_time() {
        if (first_is_gone_ && cancelled_.empty())
            return heap_.size() == 2 ? heap_[1].at : std::min(heap_[1].at, heap_[2].at);
        return skip_cancelled(), heap_.front().at;
    }
    event pop();

private:
    void skip_cancelled();
    void remove_first();
    void replace_first(const event&);

    std::vector<event> heap_;
    /// The first event was popped, and is still there: mostly the worker that it resumed pushes its next one soon, which
    /// takes its place at half the work.
    bool first_is_gone_ = false;
    std::unordered_set<number> cancelled_; ///< only looked up, never iterated: its order does not matter
    /// The first event is there, and not cancelled. False: it is not known.
    bool first_is_due_ = false;
    number next_ = 0;
};

} // namespace weft::engine
