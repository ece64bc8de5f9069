#pragma once

#include "policy/seam/policy.hpp"

#include <cstddef>
#include <vector>

/// Workers that share a last-level cache, as adjacent ranks.
namespace weft {

/// The sockets of a policy: the longest runs of workers, in rank order, whose cores are of one cache domain.
/// Where there are more workers than cores, so that their cores come again, a domain has several such runs:
/// each of them counts as a socket. With
/// `size` > 0 so many adjacent workers are a socket, whatever the machine says.
inline std::vector<workers> socket_groups(const machine& m, const policy_context& context, int size) {
    std::vector<workers> groups;
    int domain = -1;
    for (worker_id w = 0; w < context.all().size(); ++w) {
        const int of = m.domain_of(context.core_of(w));
        if (groups.empty() || (size > 0 ? groups.back().size() == size : of != domain))
            groups.push_back({w, w});
        domain = of;
        ++groups.back().last;
    }
    return groups;
}

} // namespace weft
