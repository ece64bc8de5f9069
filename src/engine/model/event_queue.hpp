#pragma once

#include "task/task.hpp"

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
    void cancel(number n) { cancelled_.insert(n); }
    bool empty() { return skip_cancelled(), heap_.empty(); }
    /// Requires, as pop() does: the queue is not empty.
    time_ns next_time() { return skip_cancelled(), heap_.front().at; }
    event pop();

private:
    void skip_cancelled();
    event remove_first();

    std::vector<event> heap_;
    std::unordered_set<number> cancelled_; ///< only looked up, never iterated: its order does not matter
    number next_ = 0;
};

} // namespace weft::engine
