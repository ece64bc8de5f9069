#pragma once

#include "machine/parts.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace weft {

// The ranks under one last-level cache. Where the last cache known is private to one core, or no cache is
// known at all, the domain is instead what lies under one memory node inside one package.
struct cache_domain {
    rank_range ranks;
    int package = 0;
    int memory_node = 0; // of its first rank
};

struct package {
    rank_range ranks;
    int first_domain = 0;
    int last_domain = 0; // half-open
};

// A machine, unchangeable and always valid: the constructor throws weft::error where the parts contradict
// each other. Workers are numbered by rank; the ranks of one core, of one domain and of one package are
// adjacent. Ranks, domains, packages and nodes given to a query must be in range; that is asserted, not
// reported.
struct machine {
    machine(); // one core, one domain, one memory node: the smallest that is valid
    explicit machine(machine_parts parts);

    const machine_parts& parts() const { return parts_; }
    const std::string& name() const { return parts_.name; }
    const std::string& description() const { return parts_.description; }

    int size() const { return static_cast<int>(parts_.cores.size()); } // number of ranks
    std::span<const weft::core> cores() const { return parts_.cores; }
    std::span<const core_class> core_classes() const { return parts_.core_classes; }
    std::span<const cache> caches() const { return parts_.caches; }
    std::span<const weft::memory_node> memory_nodes() const { return parts_.memory_nodes; }
    std::span<const device> devices() const { return parts_.devices; }
    std::span<const disk> disks() const { return parts_.disks; }
    const std::optional<weft::cluster>& cluster() const { return parts_.cluster_of; }
    std::span<const cache_domain> domains() const { return domains_; }
    std::span<const weft::package> packages() const { return packages_; }

    const weft::core& core_at(int rank) const { return parts_.cores[index(rank)]; }
    int domain_of(int rank) const { return core_at(rank).domain; }
    int package_of(int rank) const { return core_at(rank).package; }
    int memory_node_of(int rank) const { return core_at(rank).memory_node; }
    const core_class& class_of(int rank) const;
    double speed_of(int rank, work_kind kind = work_kind::general) const {
        return class_of(rank).speed_of(kind);
    }

    // The ranks that are hyperthreads of the same core as this one, itself included.
    rank_range siblings_of(int rank) const;
    int physical_cores() const { return parts_.cores.back().physical_core + 1; }

    // Indices into caches() of those through which the rank reaches memory, from the lowest level.
    std::span<const int> caches_of(int rank) const;
    // The cache of that level through which the rank reaches memory; null where none is described. The
    // last-level one is private to the core where domains are not made by a cache.
    const cache* cache_of(int rank, int level) const;
    const cache* last_level_cache_of(int rank) const;

    // True where the ranks are not processing units of the machine that the process runs on.
    bool is_modelled() const { return parts_.cores.front().os_index < 0; }
    // True where two ranks have core classes of different speed.
    bool is_heterogeneous() const;
    std::optional<double> cpu_quota() const { return parts_.cpu_quota; }
    const runtime_charges& charges() const { return parts_.charges; }
    const preemption_charges& preemption() const { return parts_.preemption; }
    const weft::time_sharing& time_sharing() const { return parts_.time_sharing; }
    const model_settings& model() const { return parts_.model; }

    // Between memory nodes, as in ACPI's SLIT: 10 is local. Where the machine gives no matrix, 20 is remote.
    double node_distance(int from, int to) const;
    // Of a load by a core of `from` from memory of `to`. Where the machine gives no matrix: the latency of
    // `to`, scaled by the distance.
    std::optional<double> node_latency_ns(int from, int to) const;
    // Where the machine gives no matrix: the bandwidth of `to`, divided by the relative distance.
    std::optional<double> node_bandwidth_gbps(int from, int to) const;

    // The nodes that data pass from the memory of `to` to the cores of `from`, both included; null where one
    // link joins the two, or they are the same.
    const std::vector<int>* node_route(int from, int to) const;

    // How far two ranks are from each other; symmetric, and always ordered by level. With d =
    // node_distance/10:
    //     0            the same core (hyperthreads too)
    //     1            another core under a common cache below the last level
    //     2            another core of the same domain
    //     4 - 1/d      another domain of the same package: [3, 4), 3 on the same memory node
    //     3 + d        another package: 4 and more
    double distance(int a, int b) const;

    // What it takes to get a task from one rank to another where the machine says it, 0 for a rank and
    // itself.
    std::optional<double> steal_latency_ns(int a, int b) const;

    // Of the link between two ranks, one each way between two packages; nothing where they share a package,
    // or where the machine does not say it.
    std::optional<double> link_gbps(int a, int b) const {
        return package_of(a) == package_of(b) ? std::nullopt : parts_.link_gbps;
    }
    bool has_links() const { return parts_.link_gbps.has_value(); }
    std::int64_t message_bytes() const { return parts_.message_bytes; }

private:
    static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    void derive();

    machine_parts parts_;
    std::vector<cache_domain> domains_;
    std::vector<weft::package> packages_;
    // The caches above rank r, from the lowest level: cache_indices_[cache_starts_[r] .. cache_starts_[r +
    // 1]).
    std::vector<int> cache_indices_;
    std::vector<std::size_t> cache_starts_;
};

// ---- queries: here, so that a policy in a shared object of its own needs nothing of the library

inline const core_class& machine::class_of(int rank) const {
    return parts_.core_classes[index(core_at(rank).core_class)];
}

inline rank_range machine::siblings_of(int rank) const {
    const int physical = core_at(rank).physical_core;
    rank_range range{rank, rank + 1};
    while (range.first > 0 && core_at(range.first - 1).physical_core == physical) --range.first;
    while (range.last < size() && core_at(range.last).physical_core == physical) ++range.last;
    return range;
}

inline std::span<const int> machine::caches_of(int rank) const {
    const std::size_t first = cache_starts_[index(rank)];
    return std::span(cache_indices_).subspan(first, cache_starts_[index(rank) + 1] - first);
}

inline const cache* machine::cache_of(int rank, int level) const {
    for (const int i : caches_of(rank)) {
        if (parts_.caches[index(i)].level == level) return &parts_.caches[index(i)];
    }
    return nullptr;
}

inline const cache* machine::last_level_cache_of(int rank) const {
    const std::span<const int> own = caches_of(rank);
    return own.empty() ? nullptr : &parts_.caches[index(own.back())];
}

inline bool machine::is_heterogeneous() const {
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

inline double machine::node_distance(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    assert(from >= 0 && to >= 0 && index(from) < nodes && index(to) < nodes);
    if (!parts_.node_distances.empty()) return parts_.node_distances[index(from) * nodes + index(to)];
    return from == to ? 10 : 20;
}

inline std::optional<double> machine::node_latency_ns(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    if (!parts_.node_latency_ns.empty()) return parts_.node_latency_ns[index(from) * nodes + index(to)];
    const std::optional<double> local = parts_.memory_nodes[index(to)].latency_ns;
    if (!local) return std::nullopt;
    return *local * node_distance(from, to) / 10;
}

inline std::optional<double> machine::node_bandwidth_gbps(int from, int to) const {
    const std::size_t nodes = parts_.memory_nodes.size();
    if (!parts_.node_bandwidth_gbps.empty())
        return parts_.node_bandwidth_gbps[index(from) * nodes + index(to)];
    const std::optional<double> local = parts_.memory_nodes[index(to)].bandwidth_gbps;
    if (!local) return std::nullopt;
    return *local * 10 / node_distance(from, to);
}

inline const std::vector<int>* machine::node_route(int from, int to) const {
    for (const std::vector<int>& route : parts_.node_routes)
        if (route.front() == to && route.back() == from) return &route;
    return nullptr;
}

inline double machine::distance(int a, int b) const {
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

inline std::optional<double> machine::steal_latency_ns(int a, int b) const {
    if (parts_.steal_latency_ns.empty()) return std::nullopt;
    if (a == b) return 0;
    return parts_.steal_latency_ns[index(domain_of(a)) * domains_.size() + index(domain_of(b))];
}

// Throws weft::error, naming the first invariant that does not hold. The constructor of machine calls it.
void validate(const machine_parts& parts);

} // namespace weft
