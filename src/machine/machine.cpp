#include "machine/machine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft {

namespace {

machine_parts smallest_parts() {
    machine_parts parts;
    parts.name = "one-core";
    parts.cores.emplace_back();
    parts.core_classes.emplace_back();
    parts.memory_nodes.emplace_back().ranks = {0, 1};
    return parts;
}

} // namespace

machine::machine() : machine(smallest_parts()) {}

machine::machine(machine_parts parts) : parts_(std::move(parts)) {
    validate(parts_);
    derive();
}

void machine::derive() {
    for (int rank = 0; rank < size(); ++rank) {
        const weft::core& c = core_at(rank);
        if (index(c.domain) == domains_.size()) {
            domains_.push_back({{rank, rank}, c.package, c.memory_node});
        }
        domains_.back().ranks.last = rank + 1;
        if (index(c.package) == packages_.size()) packages_.push_back({{rank, rank}, c.domain, c.domain});
        packages_.back().ranks.last = rank + 1;
        packages_.back().last_domain = c.domain + 1;
    }
    std::vector<std::vector<int>> own(parts_.cores.size());
    for (std::size_t i = 0; i < parts_.caches.size(); ++i) {
        const rank_range ranks = parts_.caches[i].shared_by;
        for (int rank = ranks.first; rank < ranks.last; ++rank)
            own[index(rank)].push_back(static_cast<int>(i));
    }
    for (const std::vector<int>& indices : own) {
        cache_starts_.push_back(cache_indices_.size());
        cache_indices_.insert(cache_indices_.end(), indices.begin(), indices.end());
    }
    cache_starts_.push_back(cache_indices_.size());
}

const core_class& machine::class_of(int rank) const {
    return parts_.core_classes[index(core_at(rank).core_class)];
}

rank_range machine::siblings_of(int rank) const {
    const int physical = core_at(rank).physical_core;
    rank_range range{rank, rank + 1};
    while (range.first > 0 && core_at(range.first - 1).physical_core == physical) --range.first;
    while (range.last < size() && core_at(range.last).physical_core == physical) ++range.last;
    return range;
}

std::span<const int> machine::caches_of(int rank) const {
    const std::size_t first = cache_starts_[index(rank)];
    return std::span(cache_indices_).subspan(first, cache_starts_[index(rank) + 1] - first);
}

const cache* machine::cache_of(int rank, int level) const {
    for (const int i : caches_of(rank)) {
        if (parts_.caches[index(i)].level == level) return &parts_.caches[index(i)];
    }
    return nullptr;
}

const cache* machine::last_level_cache_of(int rank) const {
    const std::span<const int> own = caches_of(rank);
    return own.empty() ? nullptr : &parts_.caches[index(own.back())];
}

bool machine::is_heterogeneous() const {
    const core_class& first = class_of(0);
    return std::any_of(parts_.cores.begin(), parts_.cores.end(), [&](const weft::core& c) {
        const core_class& other = parts_.core_classes[index(c.core_class)];
        for (const work_kind kind : {work_kind::general, work_kind::compute, work_kind::memory}) {
            if (other.speed_of(kind) < first.speed_of(kind) || other.speed_of(kind) > first.speed_of(kind))
                return true;
        }
        return false;
    });
}

double machine::node_distance(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    assert(from >= 0 && to >= 0 && index(from) < nodes && index(to) < nodes);
    if (!parts_.node_distances.empty()) return parts_.node_distances[index(from) * nodes + index(to)];
    return from == to ? 10 : 20;
}

std::optional<double> machine::node_latency_ns(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    if (!parts_.node_latency_ns.empty()) return parts_.node_latency_ns[index(from) * nodes + index(to)];
    const std::optional<double> local = parts_.memory_nodes[index(to)].latency_ns;
    if (!local) return std::nullopt;
    return *local * node_distance(from, to) / 10;
}

std::optional<double> machine::node_bandwidth_gbps(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    if (!parts_.node_bandwidth_gbps.empty())
        return parts_.node_bandwidth_gbps[index(from) * nodes + index(to)];
    const std::optional<double> local = parts_.memory_nodes[index(to)].bandwidth_gbps;
    if (!local) return std::nullopt;
    return *local * 10 / node_distance(from, to);
}

double machine::distance(int a, int b) const {
    const weft::core& x = core_at(a);
    const weft::core& y = core_at(b);
    if (x.physical_core == y.physical_core) return 0;
    if (x.domain == y.domain) {
        // The last one is the domain's, or private: it tells nothing.
        std::span<const int> own = caches_of(a);
        if (!own.empty()) own = own.first(own.size() - 1);
        for (const int i : own) {
            if (parts_.caches[index(i)].shared_by.contains(b)) return 1;
        }
        return 2;
    }
    const double d = node_distance(x.memory_node, y.memory_node) / 10;
    return x.package == y.package ? 4 - 1 / d : 3 + d;
}

std::optional<double> machine::steal_latency_ns(int a, int b) const {
    if (parts_.steal_latency_ns.empty()) return std::nullopt;
    if (a == b) return 0;
    return parts_.steal_latency_ns[index(domain_of(a)) * domains_.size() + index(domain_of(b))];
}

} // namespace weft
