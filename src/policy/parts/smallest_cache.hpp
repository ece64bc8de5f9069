#pragma once

#include "policy/seam/policy.hpp"

#include "machine/machine.hpp"

#include <algorithm>

/// The size for which subtrees are cut: bytes of the smallest last-level cache above any of the workers in
/// `range`, or 0 if none is known. As of the call: workers may change cores later.
namespace weft {

inline double smallest_last_level_cache(const machine& m, const policy_context& context, workers range) {
    double smallest = 0;
    for (worker_id w = range.first; w < range.last; ++w) {
        const cache* const c = m.last_level_cache_of(context.core_of(w));
        if (c == nullptr) continue;
        const auto bytes = static_cast<double>(c->bytes);
        smallest = smallest > 0 ? std::min(smallest, bytes) : bytes;
    }
    return smallest;
}

} // namespace weft
