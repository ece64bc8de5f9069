// What the tasks do: nothing where time is measured, and look at their predecessors where the runtime is
// checked.
#pragma once

#include "shapes.hpp"

#include "../common/timing.hpp"

#include <atomic>
#include <vector>

namespace dag {

struct empty_tasks {
    auto body(number) const noexcept {
        return [] {};
    }
};

/// Each task must run once in each run, after those that it waits for have ended. Some take a while, so that
/// others would overtake them if nothing held those back.
template <class Shape>
class checked_tasks {
public:
    explicit checked_tasks(const Shape& s) : shape_(s), ended_in_(size(s)) {}

    auto body(number at) noexcept {
        return [this, at] { run(at); };
    }

    /// Runs the whole graph by `go` and says whether all was right.
    template <class Go>
    bool watch(Go&& go) {
        ++run_;
        go();
        for (const auto& in : ended_in_)
            if (in.load(std::memory_order_acquire) != run_) return false;
        return wrong_.load(std::memory_order_relaxed) == 0;
    }

private:
    void run(number at) noexcept {
        if (at % 61 == 0) bench::spin_ns(20'000);
        for (const number p : shape_.before(at / shape_.n, at % shape_.n))
            if (p != at && ended_in_[p].load(std::memory_order_acquire) != run_) count_wrong();
        if (ended_in_[at].exchange(run_, std::memory_order_release) != run_ - 1) count_wrong();
    }
    void count_wrong() noexcept { wrong_.fetch_add(1, std::memory_order_relaxed); }

    Shape shape_;
    unsigned run_ = 0; // written between runs only
    std::vector<std::atomic<unsigned>> ended_in_;
    std::atomic<unsigned> wrong_{0};
};

} // namespace dag
