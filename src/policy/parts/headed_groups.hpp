#pragma once

#include "policy/seam/policy.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// A fixed division of the workers into groups of adjacent ranks, each with a head: its lowest worker.
///
/// The head is what CAB and LAWS call the head of a socket and HWS calls a leader: the one worker of a group
/// that takes large tasks from the pools. Since it is the lowest, a group without an active head has no
/// active worker at all.
///
/// Not here: how the workers are divided (worker_groups.hpp), and what a group keeps. A policy has its own
/// records, by the number of the group. All of this is written by attach() alone; later only read.
namespace weft {

/// Uniform among the workers of `range` other than `w`, which is one of at least two.
inline worker_id random_other_in(policy_context& context, workers range, worker_id w) {
    const auto drawn = context.random(w, static_cast<std::uint32_t>(range.size() - 1));
    const worker_id other = range.first + static_cast<worker_id>(drawn);
    return other < w ? other : other + 1;
}

class headed_groups {
public:
    /// Allocates: for policy::attach.
    void attach(std::vector<workers> groups, policy_context& context) {
        context_ = &context;
        members_ = std::move(groups);
        of_.resize(static_cast<std::size_t>(context.all().size()));
        for (int g = 0; g < count(); ++g)
            for (worker_id w = members(g).first; w < members(g).last; ++w) of_[index(w)] = g;
    }

    int count() const noexcept { return static_cast<int>(members_.size()); }
    const std::vector<workers>& all() const noexcept { return members_; }
    workers members(int group) const noexcept { return members_[index(group)]; }
    int of(worker_id w) const noexcept { return of_[index(w)]; }

    worker_id head(int group) const noexcept { return members(group).first; }
    workers head_range(int group) const noexcept { return {head(group), head(group) + 1}; }
    bool is_head(worker_id w) const noexcept { return head(of(w)) == w; }

    /// Uniform among the groups other than that of `w`. There must be at least two groups.
    int random_other(worker_id w) const {
        const auto drawn = static_cast<int>(context_->random(w, static_cast<std::uint32_t>(count() - 1)));
        return drawn < of(w) ? drawn : drawn + 1;
    }
    /// Uniform among the other workers in the group of `w`. There must be one.
    worker_id random_neighbour(worker_id w) const { return random_other_in(*context_, members(of(w)), w); }

    void wake_head(int group) const { context_->wake(head_range(group)); }
    /// The engine wakes workers within one range: this wakes the heads outside it.
    void wake_other_heads(int group) const {
        for (int other = 0; other < count(); ++other)
            if (other != group) wake_head(other);
    }

private:
    static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

    policy_context* context_ = nullptr;
    std::vector<workers> members_;
    std::vector<int> of_; // by worker
};

} // namespace weft
