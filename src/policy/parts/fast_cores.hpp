#pragma once

#include "policy/parts/core_groups.hpp"
#include "policy/seam/policy.hpp"

#include <cstddef>
#include <span>

/// Gives the fastest cores to the workers that come first, by exchanges.
namespace weft {

/// `order`: all workers, the one that is to have the fastest core first. Workers that have a core of the group that is due to
/// them keep it. Returns the number of exchanges. The caller holds a lock of its own, so that no other exchange of the
/// policy comes between.
inline int give_fast_cores(policy_context& context, const core_groups& groups,
                           std::span<const worker_id> order) {
    int exchanges = 0;
    std::size_t first = 0; // of the present group
    for (int g = 0; g < groups.count(); ++g) {
        std::size_t size = 0;
        for (const worker_id w : order) size += groups.of(w) == g ? 1 : 0;
        const std::size_t end = first + size;
        for (std::size_t i = first, from = end; i < end; ++i) {
            if (groups.of(order[i]) == g) continue;
            while (from < order.size() && groups.of(order[from]) != g) ++from;
            if (from == order.size() || !context.exchange(order[i], order[from])) return exchanges;
            ++exchanges;
        }
        first = end;
    }
    return exchanges;
}

} // namespace weft
