#pragma once

#include "policy/parts/core_groups.hpp"
#include "policy/parts/held_lock.hpp"
#include "policy/seam/policy.hpp"

#include "queue/cache_line.hpp"
#include "queue/cell.hpp"
#include "queue/spin_lock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// A worker on a fast core that finds no task takes over what a worker on a slower core runs: the two change cores.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.1, 5.10.1, 5.10.5.
///
/// Of the busy workers on slower cores it is one with the largest task, by a size that the policy gives; among equal ones
/// it is drawn. snatching.hpp says when that pays.
///
/// In the book idle cores never sleep. So a worker marks itself before its last look at what the others run, and a worker that
/// comes to a task wakes one that is marked and on a faster core.
///
///   word     | writer                       | readers    | order
///   sleeps   | its worker; a waker clears   | any worker | sleeps() exchanges, comes_to_a_task() acquires
///   largest_ | holder of snatching_         | the same   | plain
namespace weft {

class core_snatching {
public:
    /// Allocates: for policy::attach.
    void attach(const core_groups& groups, policy_context& context) {
        groups_ = &groups;
        context_ = &context;
        const auto count = static_cast<std::size_t>(context.all().size());
        marks_ = std::make_unique<mark[]>(count);
        largest_.reserve(count);
    }

    /// The worker looks for a task.
    void looks(worker_id w) noexcept {
        auto& sleeps = marks_[at(w)].sleeps;
        if (sleeps.load_relaxed()) sleeps.store_relaxed(false); // only this worker sets it
    }
    /// It has found none, and sleeps after its next snatch: a task that begins later finds the mark.
    void sleeps(worker_id w) noexcept { marks_[at(w)].sleeps.exchange(true); }

    /// Two workers that would take over the same task do so one after the other: the second sees the new cores. `size(s)` is at
    /// least 0. False if there is nothing to take over, or the exchange was refused.
    template <class Size>
    bool snatch(worker_id w, Size&& size) {
        const held_lock held(snatching_);
        largest_.clear();
        double most = 0;
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v) {
            if (v == w || !groups_->is_faster(w, v)) continue;
            const snapshot s = context_->running(v);
            if (!s.busy) continue;
            const double of = size(s);
            if (of < most) continue;
            if (of > most) largest_.clear();
            most = of;
            largest_.push_back(v);
        }
        if (largest_.empty()) return false;
        const std::uint32_t drawn = context_->random(w, static_cast<std::uint32_t>(largest_.size()));
        return context_->exchange(w, largest_[drawn]);
    }

    /// policy::started, policy::resumed: snapshots say so already. A mark that is read late costs time and nothing else.
    void comes_to_a_task(worker_id w) {
        const workers active = context_->active();
        for (worker_id v = active.first; v < active.last; ++v) {
            auto& sleeps = marks_[at(v)].sleeps;
            if (sleeps.load_acquire() && groups_->is_faster(v, w)) { // pairs with the exchange in sleeps()
                sleeps.store_relaxed(false);
                return context_->wake({v, v + 1});
            }
        }
    }

private:
    struct alignas(queue::k_cache_line_bytes) mark {
        queue::cell<bool> sleeps; ///< the worker's last look found nothing
    };

    static std::size_t at(worker_id w) noexcept { return static_cast<std::size_t>(w); }

    const core_groups* groups_ = nullptr;
    policy_context* context_ = nullptr;
    std::unique_ptr<mark[]> marks_;
    std::vector<worker_id> largest_; // never grows beyond what attach() has reserved
    queue::spin_lock<> snatching_;
};

} // namespace weft
