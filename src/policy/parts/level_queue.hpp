#pragma once

#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include <algorithm>
#include <cstdint>

/// Ready tasks that any worker may take: the one that is farthest from the end of its graph comes first (task::bottom_level()), of
/// equals the one that is expected to take longest, of these the oldest.
///
///   word            | writer              | readers     | order
///   tasks, turns    | holder of the lock  | the same    | plain, ordered by the lock
///   length          | holder of the lock  | any worker  | relaxed: a look before a sleep comes after a fence, as in locked_list
///   first_          | holder of the lock  | any worker  | relaxed: figures that guard nothing
namespace weft {

class alignas(queue::k_cache_line_bytes) level_queue {
public:
    struct part { ///< the beginning of the policy's bytes of each task in the queue
        double expected;
        std::int64_t turn;
    };

    void push(task& t, double expected) noexcept {
        lock_.lock();
        t.data<part>() = {expected, turns_++};
        tasks_.push(&t);
        note();
        lock_.unlock();
    }
    task* pop() noexcept {
        if (empty()) return nullptr;
        lock_.lock();
        task* const t = tasks_.pop();
        note();
        lock_.unlock();
        return t;
    }
    bool empty() const noexcept { return length_.load_relaxed() == 0; }
    int first_level() const noexcept { return first_level_.load_relaxed(); }          ///< 0: empty
    double first_expected() const noexcept { return first_expected_.load_relaxed(); } ///< likewise

private:
    struct goes_first {
        bool operator()(task& a, task& b) const noexcept {
            if (a.bottom_level() != b.bottom_level()) return a.bottom_level() > b.bottom_level();
            const part &x = a.data<part>(), &y = b.data<part>();
            if (x.expected < y.expected || y.expected < x.expected) return x.expected > y.expected;
            return x.turn < y.turn;
        }
    };
    void note() noexcept {
        const task* const first = tasks_.top();
        length_.store_relaxed(static_cast<int>(tasks_.size()));
        first_level_.store_relaxed(first != nullptr ? first->bottom_level() : 0);
        first_expected_.store_relaxed(first != nullptr ? first->data<part>().expected : 0);
    }

    queue::spin_lock<> lock_;
    queue::pairing_heap<task, goes_first> tasks_;
    std::int64_t turns_ = 0;
    queue::cell<int> length_{0}, first_level_{0};
    queue::cell<double> first_expected_{0};
};

} // namespace weft
