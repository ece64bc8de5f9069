#pragma once

#include "engine/model/data_names.hpp"
#include "engine/model/modelled_cache.hpp"
#include "engine/model/shared_bandwidth.hpp"
#include "machine/index.hpp"
#include "machine/machine.hpp"

#include <weft/declare.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::engine {

/// What the data of one stretch of user code cost its core if no other transfer is in the way, and the shared
/// resources that they use.
class transfer {
public:
    /// Adds data that come from a private cache of the core (`shared` is false), or from a shared cache or
    /// memory. `flow_ns`: the time that the data take one after another. `latency_ns`: that of the first
    /// line.
    void wait(bool shared, double latency_ns, double flow_ns) noexcept {
        (shared ? shared_flow_ns_ : private_flow_ns_) += flow_ns;
        double& longest = shared ? shared_latency_ns_ : private_latency_ns_;
        longest = std::max(longest, latency_ns);
    }
    void use(int resource, double bytes);

    /// Nanoseconds of waiting for private caches. Loads overlap, so only the longest latency of all is waited
    /// for.
    double private_ns() const noexcept {
        return private_flow_ns_ + (shared_latency_ns_ < private_latency_ns_ ? private_latency_ns_ : 0);
    }
    /// Nanoseconds of waiting for shared caches and for memory.
    double shared_ns() const noexcept {
        return shared_flow_ns_ + (shared_latency_ns_ < private_latency_ns_ ? 0 : shared_latency_ns_);
    }
    /// The part of both that passes before the first line arrives.
    double latency_ns() const noexcept { return std::max(private_latency_ns_, shared_latency_ns_); }
    bool empty() const noexcept { return private_ns() <= 0 && shared_ns() <= 0 && uses.empty(); }
    void clear() noexcept {
        private_flow_ns_ = shared_flow_ns_ = private_latency_ns_ = shared_latency_ns_ = bytes = 0;
        uses.clear();
    }

    double bytes = 0; ///< from shared caches and memory
    std::vector<shared_bandwidth::use> uses{};

private:
    double private_flow_ns_ = 0, shared_flow_ns_ = 0;
    double private_latency_ns_ = 0, shared_latency_ns_ = 0;
};

/// Caches and memory of a modelled machine. What a core touches goes block by block through its caches, from
/// the lowest level (each fully associative and filled), and then to the memory node that is the block's
/// home. Only the touched sectors of a block move. Writing sectors removes them from all caches that are not
/// above the writer's core. Written sectors go home when their block leaves the last cache; until then other
/// cores get them from the nearest cache that has them. Data between two nodes take the link that joins them, or
/// the links of the machine's route.
class numa_memory {
public:
    explicit numa_memory(const machine&, std::uint64_t seed = 1);

    struct traffic {                         ///< bytes
        std::uint64_t local = 0, remote = 0; ///< between a core and memory, of the same or of another node
        std::uint64_t forwarded = 0;         ///< from caches: out of the node, or to the worker
    };
    struct level_count {
        std::uint64_t accesses = 0,
                      misses = 0; ///< in sectors, which are cache lines if blocks are not too large
    };
    struct worker_count {
        std::vector<level_count> levels;  ///< by cache level, from 1
        std::uint64_t beyond_private = 0; ///< sectors that no private cache of the core had
        traffic memory;
    };

    /// The core of that rank touches the data at the virtual time `now` (ns); what that costs is added to `cost`.
    /// Times of calls do not decrease.
    void touch(int rank, const void* data, std::size_t bytes, access how, transfer& cost, double now = 0);
    /// Sets the home of data that were never touched: one node, or all nodes in turn, block by block.
    void bind(const void* data, std::size_t bytes, int node);
    void interleave(const void* data, std::size_t bytes);

    /// The memory node of the byte at `data`; -1 if the byte was never touched.
    int home_of(const void* data) const {
        const auto b = names_.find(data);
        return b ? blocks_[*b].home : unknown;
    }

    int node_count() const noexcept { return static_cast<int>(on_.memory_nodes().size()); }
    const worker_count& of_worker(int rank) const { return workers_[index(rank)]; }
    const traffic& of_node(int node) const { return nodes_[index(node)]; }
    std::uint64_t invalidations() const noexcept { return invalidations_; } ///< copies removed by writes

    /// In GB/s, of the resources of shared_bandwidth: the memory nodes come first, by number.
    std::vector<double> capacities() const { return capacities_; }

private:
    static constexpr int unknown = -1;

    struct block {
        std::int16_t home = unknown;
        sectors dirty = 0; ///< written since they came from their home
    };
    struct one_cache {
        modelled_cache held;
        double latency_ns;
        double ns_a_byte; ///< for one core
        int level;
        bool shared; ///< by several cores
        bool inclusive;
        int node; ///< of the cores below it
        int resource = unknown;
        std::vector<std::uint64_t> below{}; ///< the set of lower caches of the same cores
    };

    struct of_core {
        int node;            ///< the memory node that is its own
        double memory_speed; ///< less: fewer lines on their way, not longer ones
    };
    /// Between a core and memory.
    struct path {
        double latency_ns, ns_a_byte;
    };

    void name(const void* data, std::size_t bytes, int first_home, int step);
    void look_up(int rank, block_id, sectors, access, transfer&);
    enum class flow : bool { to_core, to_memory };
    void move(int rank, block_id, sectors, int over, flow, transfer&);
    void pass_links(int to, int from, double bytes, transfer&);
    void take_from_others(int rank, block_id, sectors, transfer&);
    void queue_for(block_id, sectors, double begins, double took, transfer&);
    void fetch(int rank, block_id, sectors, transfer&);
    sectors forward(int rank, block_id, sectors, transfer&);
    int nearest_holder(int rank, block_id, sectors) const noexcept;
    int shared_above(int rank, int cache) const noexcept;
    static bool is_below(int cache, const one_cache& of) noexcept {
        return (of.below[index(cache / 64)] & bit_of(cache)) != 0;
    }
    void hit(const one_cache&, sectors, transfer&) const;
    void wait_for_memory(int rank, int node, sectors, transfer&);
    void fill(int cache, block_id, sectors, int rank, transfer&);
    void evicted(int cache, block_id, int rank, transfer&);
    void write_back(block_id, int rank, transfer&);
    bool is_cached(block_id) const noexcept;
    /// `cache` holds some of the block, or none of it, from now on.
    void add_holder(block_id b, int cache) noexcept { word_of(b, cache) |= bit_of(cache); }
    void remove_holder(block_id b, int cache) noexcept { word_of(b, cache) &= ~bit_of(cache); }
    /// Whether the cache holds some of the block. This is known without a look at the cache, which costs more.
    bool holds(int cache, block_id b) const noexcept {
        return (holders_[b * set_words_ + index(cache / 64)] & bit_of(cache)) != 0;
    }
    std::uint64_t& word_of(block_id b, int cache) noexcept {
        return holders_[b * set_words_ + index(cache / 64)];
    }
    static std::uint64_t bit_of(int cache) noexcept { return std::uint64_t{1} << (cache % 64); }
    void invalidate_others(int rank, block_id, sectors);
    /// The resources that data pass on their way.
    const std::vector<int>& way(int to, int from) const noexcept {
        return ways_[index(to * node_count() + from)];
    }
    void lay_ways(const std::vector<int>& links);
    sectors sectors_of(std::size_t first, std::size_t last) const noexcept;
    std::int64_t bytes_of(sectors s) const noexcept { return count(s) * sector_bytes_; }
    block& block_at(block_id, bool fresh);

    const machine& on_;
    const double line_bytes_, line_overhead_bytes_;
    const std::int64_t sector_bytes_; ///< a cache line, or a 64th of a block if that is more
    data_names names_;
    std::vector<block> blocks_;
    std::vector<one_cache> caches_;
    std::size_t set_words_;               ///< words of a set of caches, a bit each
    std::vector<std::uint64_t> holders_;  ///< by block: the set of caches that hold some of it
    std::vector<std::uint64_t> own_;      ///< by rank: the set of caches between the core and memory
    std::vector<std::vector<int>> above_; ///< by rank: the same caches, from the lowest level
    std::vector<of_core> cores_;          ///< by rank
    std::vector<path> paths_;             ///< by [node of the core][node of the data]
    std::vector<double> capacities_;
    /// By [node of the cores][node of the data]: the links between them, each a resource; one, or those of a
    /// route. The opposite direction of a link is another resource.
    std::vector<std::vector<int>> ways_;
    bool one_by_one_ = false; ///< the present touch waits for each line before it asks for the next one
    /// By sector that was changed by atomic operations: the time (ns) from which the next core can have it.
    std::unordered_map<std::uint64_t, double> free_from_;
    std::vector<worker_count> workers_;
    std::vector<traffic> nodes_;
    std::uint64_t invalidations_ = 0;
};

} // namespace weft::engine
