#include "engine/model/numa_memory.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace weft::engine {

namespace {

constexpr std::size_t most_levels = 9; // of caches; machine/validate.cpp checks it
constexpr double unlimited = std::numeric_limits<double>::infinity();

/// Nanoseconds a byte for one core, by the bandwidth, else by the latency and the number of lines on their
/// way at a time. 0 if neither is known: then it costs nothing.
double ns_a_byte(const machine& m, std::optional<double> gbps, std::optional<double> latency_ns,
                 int line_bytes) {
    if (gbps) return 1 / *gbps;
    return latency_ns ? *latency_ns / (m.model().loads_in_flight * line_bytes) : 0;
}

std::int64_t line_bytes_of(const machine& m) noexcept {
    return m.caches().empty() ? 64 : m.caches().back().line_bytes;
}

} // namespace

void transfer::use(int resource, double bytes_more) {
    for (auto& u : uses) {
        if (u.resource != resource) continue;
        u.bytes += bytes_more;
        return;
    }
    uses.push_back({resource, bytes_more});
}

numa_memory::numa_memory(const machine& m, std::uint64_t seed)
    : on_(m)
    , line_bytes_(static_cast<double>(line_bytes_of(m)))
    , line_overhead_bytes_(m.parts().line_overhead_bytes)
    , sector_bytes_(std::max<std::int64_t>(line_bytes_of(m), (m.model().block_bytes + 63) / 64))
    , names_(m.model().block_bytes)
    , set_words_(0)
    , above_(index(m.size()))
    , workers_(index(m.size()))
    , nodes_(index(node_count())) {
    const auto resource = [&](std::optional<double> gbps) {
        capacities_.push_back(gbps.value_or(unlimited));
        return static_cast<int>(capacities_.size()) - 1;
    };
    for (const auto& node : m.memory_nodes()) resource(node.bandwidth_gbps);
    std::vector<int> links;
    for (int from = 0; from < node_count(); ++from)
        for (int to = 0; to < node_count(); ++to) {
            const bool is_link = from != to && !m.node_route(from, to);
            links.push_back(is_link ? resource(m.node_bandwidth_gbps(from, to)) : unknown);
        }
    lay_ways(links);
    for (int to = 0; to < node_count(); ++to)
        for (int from = 0; from < node_count(); ++from) {
            const auto latency = m.node_latency_ns(to, from);
            paths_.push_back({latency.value_or(0),
                              ns_a_byte(m, std::nullopt, latency, static_cast<int>(line_bytes_of(m)))});
        }
    for (int rank = 0; rank < m.size(); ++rank)
        cores_.push_back({m.memory_node_of(rank), m.class_of(rank).memory_speed.value_or(1)});
    for (const cache& c : m.caches()) {
        const bool first_level = c.level == 1; // what a hit there takes is part of the code's own cycles
        const bool shared =
            m.core_at(c.shared_by.first).physical_core != m.core_at(c.shared_by.last - 1).physical_core;
        caches_.push_back(
            {.held = modelled_cache(c.bytes / sector_bytes_, c.replaces,
                                    static_cast<std::uint32_t>(seed + caches_.size())),
             .latency_ns = first_level ? 0 : c.latency_ns.value_or(0),
             .ns_a_byte = first_level ? 0 : ns_a_byte(m, c.bandwidth_gbps, c.latency_ns, c.line_bytes),
             .level = c.level,
             .shared = shared,
             .inclusive = c.inclusive,
             .node = m.memory_node_of(c.shared_by.first),
             .resource = shared ? resource(c.shared_bandwidth_gbps) : unknown});
    }
    set_words_ = std::max<std::size_t>(1, (caches_.size() + 63) / 64);
    for (one_cache& c : caches_) c.below.resize(set_words_);
    own_.resize(index(m.size()) * set_words_);
    for (int rank = 0; rank < m.size(); ++rank) {
        for (const int c : m.caches_of(rank)) own_[index(rank) * set_words_ + index(c / 64)] |= bit_of(c);
        above_[index(rank)].assign(m.caches_of(rank).begin(), m.caches_of(rank).end());
        if (!above_[index(rank)].empty())
            workers_[index(rank)].levels.resize(index(caches_[index(above_[index(rank)].back())].level));
        for (std::size_t k = 0; k < above_[index(rank)].size(); ++k)
            for (std::size_t lower = 0; lower < k; ++lower) {
                const int cache = above_[index(rank)][lower];
                caches_[index(above_[index(rank)][k])].below[index(cache / 64)] |= bit_of(cache);
            }
    }
}

void numa_memory::lay_ways(const std::vector<int>& links) {
    const auto link = [&](int to, int from) { return links[index(to * node_count() + from)]; };
    for (int to = 0; to < node_count(); ++to)
        for (int from = 0; from < node_count(); ++from) {
            std::vector<int>& of_pair = ways_.emplace_back();
            if (const std::vector<int>* const route = on_.node_route(to, from))
                for (std::size_t i = 1; i < route->size(); ++i)
                    of_pair.push_back(link((*route)[i], (*route)[i - 1]));
            else if (to != from)
                of_pair.push_back(link(to, from));
        }
}

numa_memory::block& numa_memory::block_at(block_id b, bool fresh) {
    if (fresh) { // blocks are numbered in order
        blocks_.emplace_back();
        holders_.resize(holders_.size() + set_words_);
    }
    return blocks_[b];
}

sectors numa_memory::sectors_of(std::size_t first, std::size_t last) const noexcept {
    const auto from = first / static_cast<std::size_t>(sector_bytes_);
    const auto to = (last - 1) / static_cast<std::size_t>(sector_bytes_);
    return (~sectors{0} >> (63 - (to - from))) << from;
}

void numa_memory::name(const void* data, std::size_t bytes, int first_home, int step) {
    int home = first_home;
    names_.for_each_block(data, bytes, [&](block_id b, bool fresh, std::size_t, std::size_t) {
        block& x = block_at(b, fresh);
        if (x.home == unknown) x.home = static_cast<std::int16_t>(home);
        home = (home + step) % node_count();
    });
}

void numa_memory::bind(const void* data, std::size_t bytes, int node) { name(data, bytes, node, 0); }
void numa_memory::interleave(const void* data, std::size_t bytes) { name(data, bytes, 0, 1); }

void numa_memory::touch(int rank, const void* data, std::size_t bytes, access how, transfer& cost,
                        double now) {
    one_by_one_ = how == access::chase || how == access::atomic;
    names_.for_each_block(data, bytes, [&](block_id b, bool fresh, std::size_t first, std::size_t last) {
        block& x = block_at(b, fresh);
        if (x.home == unknown) x.home = static_cast<std::int16_t>(cores_[index(rank)].node);
        const sectors touched = sectors_of(first, last);
        const double before = cost.private_ns() + cost.shared_ns();
        look_up(rank, b, touched, how, cost);
        if (how == access::atomic)
            queue_for(b, touched, now + before, cost.private_ns() + cost.shared_ns() - before, cost);
    });
}

void numa_memory::look_up(int rank, block_id b, sectors touched, access how, transfer& cost) {
    if (how == access::atomic) take_from_others(rank, b, touched, cost);
    const auto& above = above_[index(rank)];
    worker_count& counts = workers_[index(rank)];
    std::array<sectors, most_levels> missed; // by place in `above`, as far as it was looked for
    sectors wanted = touched;
    auto number = static_cast<std::uint64_t>(count(wanted));
    std::size_t k = 0;
    bool is_private = true;
    const auto leaves_the_core = [&] {
        if (std::exchange(is_private, false)) counts.beyond_private += number;
    };
    for (; k < above.size() && wanted; ++k) {
        one_cache& c = caches_[index(above[k])];
        if (c.shared) leaves_the_core();
        const sectors here = holds(above[k], b) ? c.held.use(b) & wanted : 0;
        level_count& seen = counts.levels[index(c.level) - 1];
        seen.accesses += number;
        if (here) {
            hit(c, here, cost);
            wanted &= ~here;
            number = static_cast<std::uint64_t>(count(wanted));
        }
        missed[k] = wanted;
        seen.misses += number;
    }
    leaves_the_core();
    if (wanted) fetch(rank, b, wanted, cost);
    while (k-- > 0) // the largest first
        if (missed[k]) fill(above[k], b, missed[k], rank, cost);
    if (how == access::read || how == access::chase) return;
    invalidate_others(rank, b, touched);
    blocks_[b].dirty |= touched;
    if (!is_cached(b)) write_back(b, rank, cost); // no cache can hold it
}

/// Moves sectors between the core and the block's home; `over` is the node that the data come from or go to.
void numa_memory::move(int rank, block_id b, sectors s, int over, flow direction, transfer& cost) {
    const int here = cores_[index(rank)].node;
    const int home = blocks_[b].home;
    const auto bytes = static_cast<double>(bytes_of(s));
    cost.bytes += bytes;
    cost.use(home, bytes);
    if (direction == flow::to_core)
        pass_links(here, over, bytes, cost);
    else
        pass_links(over, here, bytes, cost);
    for (traffic* t : {&workers_[index(rank)].memory, &nodes_[index(home)]})
        (here == home ? t->local : t->remote) += static_cast<std::uint64_t>(bytes);
}

/// Requests, probes and answers go along, and also the other way.
void numa_memory::pass_links(int to, int from, double bytes, transfer& cost) {
    if (to == from) return;
    const double overhead = line_overhead_bytes_ * bytes / line_bytes_;
    for (const int link : way(to, from)) cost.use(link, bytes + overhead);
    if (overhead > 0)
        for (const int link : way(from, to)) cost.use(link, overhead);
}

/// An atomic operation on a line that the core's private caches hold, and other caches too: it waits until the
/// farthest of these has given it up. What the core does not hold it fetches, and that takes no less.
void numa_memory::take_from_others(int rank, block_id b, sectors touched, transfer& cost) {
    sectors own = 0;
    for (const int c : above_[index(rank)])
        if (!caches_[index(c)].shared && holds(c, b)) own |= caches_[index(c)].held.find(b);
    const int here = cores_[index(rank)].node;
    own &= touched;
    for (std::size_t k = 0; own && k < set_words_; ++k) {
        double longest = 0;
        sectors elsewhere = 0;
        for (auto others = holders_[b * set_words_ + k] & ~own_[index(rank) * set_words_ + k]; others;
             others &= others - 1) {
            const int c = static_cast<int>(64 * k) + std::countr_zero(others);
            const sectors its = caches_[index(c)].held.find(b) & own;
            if (!its) continue;
            elsewhere |= its;
            const int shared = shared_above(rank, c);
            longest = std::max(longest, shared != unknown
                                            ? caches_[index(shared)].latency_ns
                                            : on_.node_latency_ns(here, caches_[index(c)].node).value_or(0));
        }
        cost.wait(true, 0, longest * count(elsewhere));
        own &= ~elsewhere;
    }
}

/// Atomic operations of several cores on one line take place one after another: a line that is still on its way to
/// another core is waited for. What was added to `cost` for these sectors begins at `begins` and takes `took`.
void numa_memory::queue_for(block_id b, sectors s, double begins, double took, transfer& cost) {
    const double each = took / count(s);
    double at = begins;
    for (; s; s &= s - 1) {
        double& free_from = free_from_[std::uint64_t{b} * 64 + static_cast<unsigned>(std::countr_zero(s))];
        const double wait = std::max(0.0, free_from - at);
        cost.wait(true, 0, wait);
        at += wait + each;
        free_from = at;
    }
}

void numa_memory::fetch(int rank, block_id b, sectors s, transfer& cost) {
    if (const sectors written = s & blocks_[b].dirty) s &= ~forward(rank, b, written, cost);
    if (!s) return;
    const int home = blocks_[b].home;
    wait_for_memory(rank, home, s, cost);
    move(rank, b, s, home, flow::to_core, cost);
}

/// Gets those of the sectors, all newer than in memory, that other caches hold; returns them. What no cache
/// holds is left to memory. Beyond the core's shared caches the home is asked, reads its memory as well, and
/// asks the cache: the core waits for the farther of the two.
sectors numa_memory::forward(int rank, block_id b, sectors s, transfer& cost) {
    const int here = cores_[index(rank)].node;
    const int home = blocks_[b].home;
    sectors got = 0;
    for (;;) {
        const int nearest = nearest_holder(rank, b, s & ~got);
        if (nearest == unknown) return got;
        const one_cache& from = caches_[index(nearest)];
        const sectors part = from.held.find(b) & s & ~got;
        if (const int shared = shared_above(rank, nearest); shared != unknown) {
            hit(caches_[index(shared)], part, cost);
        } else {
            const bool is_far = on_.node_distance(here, from.node) > on_.node_distance(here, home);
            wait_for_memory(rank, is_far ? from.node : home, part, cost);
            move(rank, b, part, from.node, flow::to_core, cost);
        }
        for (traffic* t : {&workers_[index(rank)].memory, &nodes_[index(from.node)]})
            t->forwarded += static_cast<std::uint64_t>(bytes_of(part));
        got |= part;
    }
}

/// The nearest cache that holds any of these sectors: one under a common cache, else by the distance of its
/// node.
int numa_memory::nearest_holder(int rank, block_id b, sectors s) const noexcept {
    const int here = cores_[index(rank)].node;
    int nearest = unknown;
    double distance = 0;
    for (std::size_t k = 0; k < set_words_; ++k)
        for (auto others = holders_[b * set_words_ + k]; others; others &= others - 1) {
            const int c = static_cast<int>(64 * k) + std::countr_zero(others);
            if (!(caches_[index(c)].held.find(b) & s)) continue;
            const double its =
                shared_above(rank, c) != unknown ? 0 : on_.node_distance(here, caches_[index(c)].node);
            if (nearest == unknown || its < distance) nearest = c, distance = its;
        }
    return nearest;
}

/// The lowest shared cache above the core that is above `cache` too.
int numa_memory::shared_above(int rank, int cache) const noexcept {
    for (const int c : above_[index(rank)]) {
        if (caches_[index(c)].shared && is_below(cache, caches_[index(c)])) return c;
    }
    return unknown;
}

void numa_memory::hit(const one_cache& c, sectors s, transfer& cost) const {
    const auto bytes = static_cast<double>(bytes_of(s));
    if (one_by_one_)
        cost.wait(c.shared, 0, count(s) * c.latency_ns);
    else
        cost.wait(c.shared, c.latency_ns, bytes * c.ns_a_byte);
    if (!c.shared) return;
    cost.bytes += bytes;
    cost.use(c.resource, bytes);
}

/// Adds the wait for data from beyond the core's caches: from the memory of a node, or from a cache at that
/// node.
void numa_memory::wait_for_memory(int rank, int node, sectors s, transfer& cost) {
    const auto bytes = static_cast<double>(bytes_of(s));
    const of_core& core = cores_[index(rank)];
    const path& from = paths_[index(core.node * node_count() + node)];
    if (one_by_one_)
        cost.wait(true, 0, count(s) * from.latency_ns);
    else
        cost.wait(true, from.latency_ns, bytes * from.ns_a_byte / core.memory_speed);
    for (const int c : above_[index(rank)])
        if (caches_[index(c)].shared) cost.use(caches_[index(c)].resource, bytes);
}

void numa_memory::fill(int c, block_id b, sectors s, int rank, transfer& cost) {
    modelled_cache& held = caches_[index(c)].held;
    if (held.insert(b, s, [&](block_id gone) { evicted(c, gone, rank, cost); })) add_holder(b, c);
    // It was last touched long ago, and is most likely the next to go.
    const block_id next = held.oldest();
    __builtin_prefetch(&holders_[next * set_words_], 1);
    __builtin_prefetch(&blocks_[next], 1);
}

void numa_memory::evicted(int c, block_id b, int rank, transfer& cost) {
    remove_holder(b, c);
    const one_cache& from = caches_[index(c)];
    if (from.inclusive)
        for (std::size_t k = 0; k < set_words_; ++k)
            for (auto lower = holders_[b * set_words_ + k] & from.below[k]; lower; lower &= lower - 1) {
                const int below = static_cast<int>(64 * k) + std::countr_zero(lower);
                if (caches_[index(below)].held.erase(b, ~sectors{0})) remove_holder(b, below);
            }
    if (blocks_[b].dirty && !is_cached(b)) write_back(b, rank, cost);
}

bool numa_memory::is_cached(block_id b) const noexcept {
    const auto* const set = &holders_[b * set_words_];
    return std::any_of(set, set + set_words_, [](std::uint64_t word) { return word != 0; });
}

/// No core waits for it, but it takes its part of the bandwidth.
void numa_memory::write_back(block_id b, int rank, transfer& cost) {
    move(rank, b, std::exchange(blocks_[b].dirty, 0), blocks_[b].home, flow::to_memory, cost);
}

void numa_memory::invalidate_others(int rank, block_id b, sectors s) {
    for (std::size_t k = 0; k < set_words_; ++k)
        for (auto others = holders_[b * set_words_ + k] & ~own_[index(rank) * set_words_ + k]; others;
             others &= others - 1) {
            const int c = static_cast<int>(64 * k) + std::countr_zero(others);
            modelled_cache& held = caches_[index(c)].held;
            if (held.find(b) & s) ++invalidations_;
            if (held.erase(b, s)) remove_holder(b, c);
        }
}

} // namespace weft::engine
