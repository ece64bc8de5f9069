#pragma once

#include "machine/parts.hpp"

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
    const model_settings& model() const { return parts_.model; }

    // Between memory nodes, as in ACPI's SLIT: 10 is local. Where the machine gives no matrix, 20 is remote.
    double node_distance(int from, int to) const;
    // Of a load by a core of `from` from memory of `to`. Where the machine gives no matrix: the latency of
    // `to`, scaled by the distance.
    std::optional<double> node_latency_ns(int from, int to) const;
    // Where the machine gives no matrix: the bandwidth of `to`, divided by the relative distance.
    std::optional<double> node_bandwidth_gbps(int from, int to) const;

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

// Throws weft::error, naming the first invariant that does not hold. The constructor of machine calls it.
void validate(const machine_parts& parts);

} // namespace weft
