#pragma once

#include "policy/seam/policy.hpp"

#include "machine/domains.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Fixed divisions of the workers into groups of adjacent ranks, in rank order.
///
/// worker_domains.hpp says which domain a single worker is in. The three divisions differ only where there
/// are more workers than cores, so that the cores, and with them the domains, come again in rank order. All
/// of them allocate: for policy::attach.
namespace weft {

/// The domain of each worker's core.
inline std::vector<int> domains_of_workers(const policy_context& context, const domains& all) {
    std::vector<int> found;
    for (worker_id w = 0; w < context.all().size(); ++w) found.push_back(all.of(context.core_of(w)));
    return found;
}

/// The longest runs of workers that have the same number in `key`.
inline std::vector<workers> runs_of_equal(const std::vector<int>& key) {
    std::vector<workers> groups;
    for (std::size_t i = 0; i < key.size(); ++i) {
        const auto w = static_cast<worker_id>(i);
        if (i == 0 || key[i] != key[i - 1]) groups.push_back({w, w});
        groups.back().last = w + 1;
    }
    return groups;
}

/// The longest runs of workers whose cores are in one domain. A domain whose cores come again has several
/// such groups.
inline std::vector<workers> groups_in_domains(const policy_context& context, const domains& all) {
    return runs_of_equal(domains_of_workers(context, all));
}

/// As groups_in_domains(); but where cores come again, the workers are divided evenly, by rank, into as many
/// groups as there are domains. So there are never more groups than domains.
inline std::vector<workers> groups_for_domains(const policy_context& context, const domains& all) {
    std::vector<int> key = domains_of_workers(context, all);
    if (!std::ranges::is_sorted(key)) {
        const auto count = static_cast<std::int64_t>(key.size());
        for (std::int64_t w = 0; w < count; ++w)
            key[static_cast<std::size_t>(w)] = static_cast<int>(w * all.count() / count);
    }
    return runs_of_equal(key);
}

/// Groups of `size` workers each; the last group may be smaller.
inline std::vector<workers> groups_of_size(const policy_context& context, int size) {
    std::vector<int> key;
    for (worker_id w = 0; w < context.all().size(); ++w) key.push_back(w / size);
    return runs_of_equal(key);
}

} // namespace weft
