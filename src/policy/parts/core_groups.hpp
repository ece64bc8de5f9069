#pragma once

#include "policy/seam/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

/// The c-groups of an asymmetric machine: cores of equal speed, the fastest group first.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.2.
///
/// Only speeds of cores that had a worker at attach() make a group. Each query asks the context for the worker's core, so
/// the answers follow policy_context::exchange().
namespace weft {

class core_groups {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        speeds_.clear();
        for (worker_id w = 0; w < context.all().size(); ++w)
            speeds_.push_back(m.speed_of(context.core_of(w)));
        std::ranges::sort(speeds_, std::greater{});
        speeds_.erase(std::ranges::unique(speeds_).begin(), speeds_.end());
        group_of_core_.clear();
        for (int core = 0; core < m.size(); ++core) group_of_core_.push_back(group_for(m.speed_of(core)));
    }

    int count() const noexcept { return static_cast<int>(speeds_.size()); }
    double speed(int group) const noexcept { return speeds_[static_cast<std::size_t>(group)]; }
    const std::vector<double>& speeds() const noexcept { return speeds_; }

    int of_core(int core) const noexcept { return group_of_core_[static_cast<std::size_t>(core)]; }
    int of(worker_id w) const noexcept { return of_core(context_->core_of(w)); }
    int slowest() const noexcept { return count() - 1; }
    bool are_equal() const noexcept { return count() < 2; } ///< no core is faster than another
    double speed_of(worker_id w) const noexcept { return speed(of(w)); }
    bool is_faster(worker_id a, worker_id b) const noexcept { return of(a) < of(b); }

    /// How many active workers are in that group now.
    int workers_in(int group) const noexcept { return workers_in(group, context_->active()); }
    int workers_in(int group, workers among) const noexcept {
        int found = 0;
        for (worker_id w = among.first; w < among.last; ++w) found += of(w) == group ? 1 : 0;
        return found;
    }

    /// Any worker of that group among these, each equally likely; the caller, `w`, draws. There is one.
    worker_id draw(worker_id w, int group, workers among) const {
        auto left = context_->random(w, static_cast<std::uint32_t>(workers_in(group, among)));
        worker_id drawn = w;
        for (worker_id v = among.first; v < among.last; ++v) {
            if (of(v) != group) continue;
            drawn = v;
            if (left-- == 0) break;
        }
        return drawn;
    }

    /// A task is in place `at` for the active workers of which `may(worker)` is true. The engine wakes one of the first run of
    /// adjacent ones; the other runs are woken here.
    template <class May>
    placement for_those(place_id at, May&& may) const {
        placement told{at, {}};
        workers run{};
        const workers active = context_->active();
        for (worker_id w = active.first; w <= active.last; ++w) {
            if (w < active.last && may(w)) {
                if (run.empty()) run.first = w;
                run.last = w + 1;
            } else if (!run.empty()) {
                if (told.who.empty())
                    told.who = run;
                else
                    context_->wake(run);
                run = {};
            }
        }
        return told;
    }

private:
    /// The fastest group that is not faster than `speed`; the slowest if all are.
    int group_for(double speed) const noexcept {
        const auto at = std::ranges::find_if(speeds_, [&](double s) { return s <= speed; });
        return std::min(static_cast<int>(at - speeds_.begin()), count() - 1);
    }

    policy_context* context_ = nullptr;
    std::vector<double> speeds_; ///< descending
    std::vector<int> group_of_core_;
};

} // namespace weft
