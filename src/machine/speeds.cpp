#include "machine/speeds.hpp"

#include "machine/index.hpp"
#include "machine/workers.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <utility>

#include <sched.h>

namespace weft {

namespace {

// `count` cores like the first of `m`, under its last cache and beside its memory.
machine_parts cores_like_the_first(const machine& m, int count) {
    machine_parts parts = m.parts();
    const core first = m.core_at(0);
    parts.cores.assign(index(count), {.core_class = first.core_class});
    for (int rank = 0; rank < count; ++rank) parts.cores[index(rank)].physical_core = rank;
    parts.caches.clear();
    const cache* const last = m.last_level_cache_of(0);
    const bool is_shared = last != nullptr && last->shared_by != m.siblings_of(0);
    for (const int c : m.caches_of(0)) {
        cache copy = m.caches()[index(c)];
        const bool is_last = is_shared && &m.caches()[index(c)] == last;
        for (int rank = 0; rank < (is_last ? 1 : count); ++rank) {
            copy.shared_by = is_last ? rank_range{0, count} : rank_range{rank, rank + 1};
            parts.caches.push_back(copy);
        }
    }
    memory_node node = m.memory_nodes()[index(first.memory_node)];
    node.ranks = {0, count};
    parts.memory_nodes = {node};
    const auto keep = [](std::vector<double>& matrix, std::size_t nodes, int of) {
        if (!matrix.empty()) matrix = {matrix[index(of) * nodes + index(of)]};
    };
    const std::size_t nodes = m.memory_nodes().size();
    keep(parts.node_distances, nodes, first.memory_node);
    keep(parts.node_latency_ns, nodes, first.memory_node);
    keep(parts.node_bandwidth_gbps, nodes, first.memory_node);
    keep(parts.steal_latency_ns, m.domains().size(), first.domain);
    parts.node_routes.clear();
    parts.link_gbps.reset();
    for (device& d : parts.devices) d.memory_node = d.memory_node < 0 ? -1 : 0;
    return parts;
}

} // namespace

machine with_speeds(const machine& m, std::span<const double> speeds) {
    const int count = static_cast<int>(speeds.size());
    assert(count > 0);
    machine_parts parts = count > m.size()   ? cores_like_the_first(m, count)
                          : count < m.size() ? restrict_to(m, ranks_for(m, count, pin_order::compact)).parts()
                                             : m.parts();
    const double clock = std::ranges::max(m.core_classes(), {}, &core_class::speed).frequency_mhz;
    const double fastest = std::ranges::max(speeds);
    std::vector<core_class> classes;
    for (int rank = 0; rank < count; ++rank) {
        const double speed = speeds[index(rank)];
        const auto same = [&](const core_class& c) { return !(c.speed < speed) && !(speed < c.speed); };
        auto at = std::ranges::find_if(classes, same);
        if (at == classes.end())
            at = classes.insert(at, {.name = fmt::format("speed {}", speed),
                                     .speed = speed,
                                     .frequency_mhz = clock * speed / fastest});
        parts.cores[index(rank)].core_class = static_cast<int>(at - classes.begin());
    }
    parts.core_classes = std::move(classes);
    parts.name = fmt::format("{}, speeds {}", m.name(), fmt::join(speeds, ","));
    return machine(std::move(parts));
}

emulated_speeds emulate_speeds(const machine& m, std::span<const double> speeds, std::span<const int> cpus,
                               std::optional<double> quota, bool pinned) {
    emulated_speeds made{.speeds = {speeds.begin(), speeds.end()}};
    std::vector<int> order(speeds.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int a, int b) { return speeds[index(a)] > speeds[index(b)]; });
    std::vector<double> taken(cpus.size(), 0.0);
    std::vector<int> workers_on(cpus.size(), 0);
    made.cpus.resize(speeds.size());
    for (const int rank : order) {
        const auto own = std::ranges::find(cpus, m.core_at(rank).os_index);
        const auto at =
            own != cpus.end() ? own - cpus.begin() : std::ranges::min_element(taken) - taken.begin();
        taken[static_cast<std::size_t>(at)] += speeds[index(rank)];
        ++workers_on[static_cast<std::size_t>(at)];
        made.cpus[index(rank)] = cpus[static_cast<std::size_t>(at)];
    }
    const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    if (!pinned) {
        made.cpus.clear();
        const auto units = static_cast<double>(cpus.size());
        if (speeds.size() > cpus.size()) made.scale = std::min(1.0, most_of_a_shared_cpu * units / all);
    } else {
        for (std::size_t c = 0; c < cpus.size(); ++c)
            if (workers_on[c] > 1) made.scale = std::min(made.scale, most_of_a_shared_cpu / taken[c]);
    }
    if (quota) made.scale = std::min(made.scale, most_of_a_shared_cpu * *quota / all);
    for (const double s : speeds) made.shares.push_back(s * made.scale);
    return made;
}

std::vector<int> usable_cpus() {
    cpu_set_t mask;
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof mask, &mask) == 0)
        for (int c = 0; c < CPU_SETSIZE; ++c)
            if (CPU_ISSET(static_cast<std::size_t>(c), &mask)) cpus.push_back(c);
    if (cpus.empty()) // the kernel's masks are larger than cpu_set_t
        for (int c = 0; c < usable_cores(); ++c) cpus.push_back(c);
    return cpus;
}

} // namespace weft
