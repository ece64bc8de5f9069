#pragma once

#include "policy/parts/core_clusters.hpp"
#include "policy/parts/core_groups.hpp"
#include "policy/parts/elastic_places.hpp"
#include "policy/parts/performance_trace_table.hpp"
#include "policy/seam/policy.hpp"

#include <algorithm>

/// Where a moldable task runs, and how wide: of the places whose workers are all idle, the one in which it is expected to end
/// first. The width by the load and the trace table are XiTAO's (molding_rules.hpp, performance_trace_table.hpp); ours is
/// that all places of the machine are looked at, that a share waits for no worker that runs something else, and what is expected
/// of a place that was never measured.
///
/// Such a place is expected to take what one of the same class of cores takes at the next narrower or wider width that was
/// measured, with the same product of width and time; else what another class takes, by the speeds of the cores. So a wider
/// place looks better than a narrow one until it was tried.
namespace weft {

class idle_places {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, const policy_context& context, const core_groups& groups) {
        groups_ = &groups;
        clusters_.attach(m, context, false);
        table_.attach(m, context, false);
    }

    const core_clusters& clusters() const noexcept { return clusters_; }
    int widest() const noexcept { return power_of_two_below(std::min(clusters_.widest(), max_width)); }
    int type_of(std::uint64_t of_class) noexcept { return table_.type_of(of_class); }
    /// By the leader.
    void took(int type, elastic_place at, time_ns ns) noexcept { table_.update(type, at, ns); }

    /// `w` has found a task of that type, and is idle. `most`: the widest that the load allows. `is_idle(worker)`.
    template <class Idle>
    elastic_place choose(worker_id w, int type, int most, Idle&& is_idle) const {
        elastic_place best{w, 1};
        double least = expected(type, best);
        for (int c = 0; c < clusters_.count(); ++c)
            for_each_place(clusters_.members(c), std::min(most, max_width), [&](elastic_place at) {
                for (worker_id v = at.leader; v < at.leader + at.width; ++v)
                    if (v != w && !is_idle(v)) return;
                if (const double ns = expected(type, at); ns < least) best = at, least = ns;
            });
        return best;
    }

    /// Nanoseconds. If no task of the type has ended, only the ratios of two places mean anything.
    double expected(int type, elastic_place at) const noexcept {
        if (const double own = of_class_at(type, at); own > 0) return own;
        const double speed = groups_->speed_of(at.leader);
        for (int c = 0; c < clusters_.count(); ++c) {
            const elastic_place other{clusters_.members(c).first, at.width};
            if (const double ns = of_class_at(type, other); ns > 0)
                return ns * groups_->speed_of(other.leader) / speed;
        }
        return 1e6 / (speed * at.width);
    }

private:
    /// By what places of the leader's class of cores took.
    double of_class_at(int type, elastic_place at) const noexcept {
        const auto work_at = [&](int width) {
            return static_cast<double>(table_.time_like(type, {at.leader, width}) * width);
        };
        for (int width = at.width; width >= 1; width /= 2)
            if (const double work = work_at(width); work > 0) return work / at.width;
        for (int width = 2 * at.width; width <= max_width; width *= 2)
            if (const double work = work_at(width); work > 0) return work / at.width;
        return 0;
    }

    const core_groups* groups_ = nullptr;
    core_clusters clusters_;
    performance_trace_table table_;
};

} // namespace weft
