#pragma once

#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"

#include <cstddef>
#include <vector>

/// Which worker is in which cluster, for the policies that were made for machines of machines. A cluster is a
/// package of the machine, a node is one of its workers. It holds no task and sends no message.
namespace weft {

class clusters {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context) {
        context_ = &context;
        const domains packages(m, domain_kind::package);
        members_.resize(static_cast<std::size_t>(packages.count()));
        for (worker_id w = 0; w < context.all().size(); ++w) {
            const int c = packages.of(context.core_of(w));
            of_.push_back(c);
            index_.push_back(static_cast<int>(members_[at(c)].size()));
            members_[at(c)].push_back(w);
        }
        for (const auto& list : members_) populated_ += list.empty() ? 0 : 1;
    }

    /// Including those without workers.
    int count() const noexcept { return static_cast<int>(members_.size()); }
    bool several() const noexcept { return populated_ > 1; }
    int of(worker_id w) const noexcept { return of_[at(w)]; }
    /// The nodes of a cluster, in rank order.
    const std::vector<worker_id>& members(int cluster) const noexcept { return members_[at(cluster)]; }
    int index_in_cluster(worker_id w) const noexcept { return index_[at(w)]; }
    worker_id head(int cluster) const noexcept { return members(cluster).front(); }

    /// Uniform among the other nodes of its cluster; -1 if there is none.
    worker_id draw_near(worker_id w) {
        const auto& all = members(of(w));
        if (all.size() < 2) return -1;
        const auto drawn = context_->random(w, static_cast<std::uint32_t>(all.size() - 1));
        return all[drawn < static_cast<std::uint32_t>(index_in_cluster(w)) ? drawn : drawn + 1];
    }
    /// Uniform among the other clusters that have nodes; -1 if there is none.
    int draw_cluster(worker_id w) {
        if (!several()) return -1;
        auto left = context_->random(w, static_cast<std::uint32_t>(populated_ - 1));
        for (int c = 0;; ++c) {
            if (c == of(w) || members(c).empty()) continue;
            if (left-- == 0) return c;
        }
    }
    /// Uniform among the nodes of a cluster that draw_cluster() gives; -1 if there is none.
    worker_id draw_far(worker_id w) {
        const int c = draw_cluster(w);
        if (c < 0) return -1;
        const auto& all = members(c);
        return all[context_->random(w, static_cast<std::uint32_t>(all.size()))];
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    policy_context* context_ = nullptr;
    std::vector<std::vector<worker_id>> members_;
    std::vector<int> of_, index_;
    int populated_ = 0;
};

} // namespace weft
