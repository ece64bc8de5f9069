#pragma once

#include "policy/parts/worker_groups.hpp"
#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// The workers as clusters, in which the places of moldable tasks lie: a cluster is a longest run of workers whose cores share
/// their last cache and are of one class. Which cores are fast is a question for core_groups.hpp.
namespace weft {

class core_clusters {
public:
    /// Allocates: for policy::attach. `joined`: all workers count as one cluster where places are concerned.
    void attach(const machine& m, const policy_context& context, bool joined) {
        std::vector<int> key = domains_of_workers(context, domains(m, domain_kind::last_level_cache));
        for (worker_id w = 0; w < context.all().size(); ++w)
            key[at(w)] = key[at(w)] * static_cast<int>(m.core_classes().size()) +
                         m.core_at(context.core_of(w)).core_class;
        all_ = joined ? std::vector<workers>{context.all()} : runs_of_equal(key);
        of_.resize(key.size());
        for (std::size_t c = 0; c < all_.size(); ++c)
            for (worker_id w = all_[c].first; w < all_[c].last; ++w) of_[at(w)] = static_cast<int>(c);
    }

    int count() const noexcept { return static_cast<int>(all_.size()); }
    int of(worker_id w) const noexcept { return of_[at(w)]; }
    workers members(int cluster) const noexcept { return all_[at(cluster)]; }
    int widest() const noexcept { ///< workers of the largest cluster
        int most = 1;
        for (const workers c : all_) most = std::max(most, c.size());
        return most;
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    std::vector<workers> all_;
    std::vector<int> of_;
};

} // namespace weft
