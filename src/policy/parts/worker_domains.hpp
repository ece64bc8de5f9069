#pragma once

#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"

#include <cstdint>
#include <vector>

/// Which domain of the machine each worker's core is in.
///
/// Each query asks the context for the worker's core, so a domain may have any workers, adjacent or not.
/// worker_groups.hpp divides the workers into adjacent ranks, once.
namespace weft {

class worker_domains {
public:
    /// Allocates: for policy::attach.
    void attach(const machine& m, policy_context& context, domain_kind kind) {
        context_ = &context;
        domains_ = domains(m, kind);
    }

    int count() const noexcept { return domains_.count(); }
    int of(worker_id w) const noexcept { return domains_.of(context_->core_of(w)); }
    /// As domains::others: nearest first.
    const std::vector<int>& others(int domain) const noexcept { return domains_.others(domain); }

    /// How many workers are in that domain now.
    int workers_in(int domain) const noexcept {
        int found = 0;
        const workers all = context_->all();
        for (worker_id w = all.first; w < all.last; ++w) found += of(w) == domain ? 1 : 0;
        return found;
    }

    /// Uniform among the other workers in the domain of `w`; -1 if there is none.
    worker_id random_neighbour(worker_id w) {
        const int domain = of(w);
        const int choice = workers_in(domain) - 1;
        if (choice < 1) return -1;
        auto left = context_->random(w, static_cast<std::uint32_t>(choice));
        worker_id victim = -1;
        const workers all = context_->all();
        for (worker_id v = all.first; v < all.last; ++v) {
            if (v == w || of(v) != domain) continue;
            victim = v;
            if (left-- == 0) break;
        }
        return victim;
    }

private:
    policy_context* context_ = nullptr;
    domains domains_;
};

} // namespace weft
