#pragma once

#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/pairing_heap.hpp"
#include "queue/spin_lock.hpp"

#include <cstdint>

/// Ready tasks of all workers: the one that is farthest from the end of its graph comes first, of equals the one that is expected to
/// take longest, of these the oldest. `Bytes`, the policy's bytes of a task, has `expected` and `turn`.
namespace weft {

template <class Bytes>
class alignas(queue::k_cache_line_bytes) level_queue {
public:
    void push(task& t, int, double) noexcept {
        lock_.lock();
        t.data<Bytes>().turn = turns_++;
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
    double most_expected() const noexcept { return most_expected_.load_relaxed(); }
    int most_level() const noexcept { return most_level_.load_relaxed(); }

private:
    struct goes_first {
        bool operator()(task& a, task& b) const noexcept {
            if (a.bottom_level() != b.bottom_level()) return a.bottom_level() > b.bottom_level();
            const Bytes &x = a.data<Bytes>(), &y = b.data<Bytes>();
            return x.expected != y.expected ? x.expected > y.expected : x.turn < y.turn;
        }
    };
    void note() noexcept {
        const task* const first = tasks_.top();
        length_.store_relaxed(static_cast<int>(tasks_.size()));
        most_level_.store_relaxed(first != nullptr ? first->bottom_level() : 0);
        most_expected_.store_relaxed(first != nullptr ? first->template data<Bytes>().expected : 0);
    }

    queue::spin_lock<> lock_; // of the two below, and for writing the others
    queue::pairing_heap<task, goes_first> tasks_;
    std::int64_t turns_ = 0;
    queue::cell<int> length_{0}, most_level_{0};
    queue::cell<double> most_expected_{0};
};

} // namespace weft
