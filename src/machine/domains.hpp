#pragma once

#include "machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

/// The three ways in which a machine divides its ranks, and one class that answers for each of them.
///
/// Papers write "socket" for all three, since on their machines the three are the same. On others they
/// differ: a package may have several last-level caches, a memory node may lie in several packages, and a
/// package may have several memory nodes. So a policy names the one that it means.
namespace weft {

enum class domain_kind {
    last_level_cache, ///< machine::domains(): the ranks that share cached data. A paper's "socket" unless it
                      ///< speaks of memory or of links
    memory_node,      ///< machine::memory_nodes(): the ranks that are nearest to one memory. For the home of
                      ///< data and for bandwidth. A node may be without ranks
    package,          ///< machine::packages(): the ranks on one chip carrier, between which data take a link
};

/// One division of a machine's ranks, copied from the machine. Unchangeable after construction.
///
/// Domains are numbered as in the machine, from 0. Ranks and domains given to a query must be in range.
class domains {
public:
    domains() = default;
    domains(const machine& m, domain_kind kind);

    /// Number of domains, including memory nodes without ranks.
    int count() const noexcept { return static_cast<int>(ranks_.size()); }
    /// The domain that the rank is in.
    int of(int rank) const noexcept { return of_[index(rank)]; }
    /// The ranks of a domain, which are adjacent. Empty for a memory node without ranks.
    rank_range ranks(int domain) const noexcept { return ranks_[index(domain)]; }
    /// All other domains that have ranks, the nearest first; of equally near ones, the lower number first.
    /// Near is machine::node_distance() for memory nodes, else machine::distance() between the first ranks.
    const std::vector<int>& others(int domain) const noexcept { return others_[index(domain)]; }

private:
    static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
    static std::vector<rank_range> ranks_by_domain(const machine& m, domain_kind kind);
    static int domain_of(const machine& m, domain_kind kind, int rank);

    std::vector<rank_range> ranks_;
    std::vector<int> of_;
    std::vector<std::vector<int>> others_;
};

inline std::vector<rank_range> domains::ranks_by_domain(const machine& m, domain_kind kind) {
    std::vector<rank_range> all;
    switch (kind) {
    case domain_kind::last_level_cache:
        for (const cache_domain& d : m.domains()) all.push_back(d.ranks);
        break;
    case domain_kind::memory_node:
        for (const memory_node& n : m.memory_nodes()) all.push_back(n.ranks);
        break;
    case domain_kind::package:
        for (const package& p : m.packages()) all.push_back(p.ranks);
        break;
    }
    return all;
}

inline int domains::domain_of(const machine& m, domain_kind kind, int rank) {
    switch (kind) {
    case domain_kind::last_level_cache: return m.domain_of(rank);
    case domain_kind::memory_node: return m.memory_node_of(rank);
    case domain_kind::package: return m.package_of(rank);
    }
    return 0;
}

inline domains::domains(const machine& m, domain_kind kind)
    : ranks_(ranks_by_domain(m, kind))
    , others_(ranks_.size()) {
    for (int rank = 0; rank < m.size(); ++rank) of_.push_back(domain_of(m, kind, rank));
    for (int from = 0; from < count(); ++from) {
        const auto distance_to = [&](int to) {
            if (kind == domain_kind::memory_node) return m.node_distance(from, to);
            return m.distance(ranks(from).first, ranks(to).first);
        };
        std::vector<int>& others = others_[index(from)];
        for (int to = 0; to < count(); ++to)
            if (to != from && ranks(to).size() > 0) others.push_back(to);
        std::ranges::stable_sort(others, {}, distance_to);
    }
}

} // namespace weft
