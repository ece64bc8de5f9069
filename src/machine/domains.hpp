#pragma once

#include "machine/parts.hpp"

#include <cstddef>
#include <vector>

/// The three ways in which a machine divides its ranks, and one class that answers for each of them.
///
/// Papers write "socket" for all three, since on their machines the three are the same. On others they
/// differ: a package may have several last-level caches, a memory node may lie in several packages, and a
/// package may have several memory nodes. So a policy names the one that it means.
namespace weft {

struct machine;

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

    std::vector<rank_range> ranks_;
    std::vector<int> of_;
    std::vector<std::vector<int>> others_;
};

} // namespace weft
