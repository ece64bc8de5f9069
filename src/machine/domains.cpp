#include "machine/domains.hpp"

#include "machine/machine.hpp"

#include <algorithm>

namespace weft {
namespace {

std::vector<rank_range> ranks_by_domain(const machine& m, domain_kind kind) {
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

int domain_of(const machine& m, domain_kind kind, int rank) {
    switch (kind) {
    case domain_kind::last_level_cache: return m.domain_of(rank);
    case domain_kind::memory_node: return m.memory_node_of(rank);
    case domain_kind::package: return m.package_of(rank);
    }
    return 0;
}

} // namespace

domains::domains(const machine& m, domain_kind kind)
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
