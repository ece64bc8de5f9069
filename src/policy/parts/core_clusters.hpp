#pragma once

#include "policy/parts/worker_groups.hpp"
#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// The workers as clusters of equal cores, and which of them are fast. A cluster is a longest run of workers whose cores
/// share their last cache and are of one class. It holds no task.
///
/// A cluster is big if no other class of this machine is faster, and LITTLE if none is slower. If all classes are equally
/// fast, each cluster is both.
namespace weft {

class core_clusters {
public:
    /// Allocates: for policy::attach. `joined`: all workers count as one cluster where places are concerned.
    void attach(const machine& m, const policy_context& context, bool joined) {
        std::vector<int> key = domains_of_workers(context, domains(m, domain_kind::last_level_cache));
        std::vector<double> speed;
        for (worker_id w = 0; w < context.all().size(); ++w) {
            const int core = context.core_of(w);
            key[at(w)] = key[at(w)] * static_cast<int>(m.core_classes().size()) + m.core_at(core).core_class;
            speed.push_back(m.speed_of(core));
        }
        all_ = joined ? std::vector<workers>{context.all()} : runs_of_equal(key);
        of_.resize(key.size());
        for (std::size_t c = 0; c < all_.size(); ++c)
            for (worker_id w = all_[c].first; w < all_[c].last; ++w) of_[at(w)] = static_cast<int>(c);
        const auto [slow, fast] = std::ranges::minmax(speed);
        is_big_.resize(key.size());
        is_equal_ = !(slow < fast);
        for (worker_id w = 0; w < context.all().size(); ++w) {
            is_big_[at(w)] = !(speed[at(w)] < fast);
            if (!(speed[at(w)] < fast)) big_.push_back(w);
            if (!(slow < speed[at(w)])) little_.push_back(w);
        }
    }

    int count() const noexcept { return static_cast<int>(all_.size()); }
    int of(worker_id w) const noexcept { return of_[at(w)]; }
    workers members(int cluster) const noexcept { return all_[at(cluster)]; }
    const std::vector<worker_id>& big() const noexcept { return big_; }
    const std::vector<worker_id>& little() const noexcept { return little_; }
    bool is_big(worker_id w) const noexcept { return is_big_[at(w)]; }
    bool all_are_equal() const noexcept { return is_equal_; } ///< no class is faster than another
    int widest() const noexcept {                             ///< workers of the largest cluster
        int most = 1;
        for (const workers c : all_) most = std::max(most, c.size());
        return most;
    }

private:
    static std::size_t at(int i) noexcept { return static_cast<std::size_t>(i); }

    std::vector<workers> all_;
    std::vector<int> of_;
    std::vector<worker_id> big_, little_;
    std::vector<bool> is_big_;
    bool is_equal_ = true;
};

} // namespace weft
