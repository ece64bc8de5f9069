#pragma once

#include "graph/stable_array.hpp"

#include <weft/impl/graph_node.hpp>

#include <atomic>
#include <cstdint>

namespace weft {

/// The nodes of a graph by number, from 0. One thread at a time, the adder, makes nodes; meanwhile other
/// threads may use the nodes that they know to exist. Nodes keep their addresses. In a store that releases,
/// the memory of a block goes back to the system when all nodes of the block have been reported as finished;
/// their numbers are not used again (E5).
class node_store {
public:
    explicit node_store(bool releases) noexcept : releases_(releases), at_(releases) {}
    node_store(const node_store&) = delete;
    node_store& operator=(const node_store&) = delete;

    impl::graph_node& operator[](std::uint32_t t) noexcept { return at_[t]; }
    const impl::graph_node& operator[](std::uint32_t t) const noexcept { return at_[t]; }
    /// Under the graph's lock: null if the block of `t` is gone.
    impl::graph_node* find(std::uint32_t t) noexcept {
        return releases_ && blocks_[block_of(t)].is_gone ? nullptr : &at_[t];
    }
    std::uint32_t size() const noexcept {
        return at_.size();
    } ///< including nodes that are gone; for the adder

    impl::graph_node& grow() {
        while (releases_ && blocks_.size() <= block_of(at_.size())) blocks_.grow();
        return at_.grow();
    }

    /// No thread needs this node any more. True for the last node of its block: the caller then calls
    /// release().
    bool finished(std::uint32_t t) noexcept {
        // acq_rel: pairs with the same decrement of the other nodes: the release comes after every use
        return blocks_[block_of(t)].unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    /// Gives back the block of `t`, after calling each(node) for its nodes. Not at the same time as grow()
    /// and find().
    template <class Each>
    void release(std::uint32_t t, Each&& each) noexcept {
        block& b = blocks_[block_of(t)];
        const std::uint32_t first = (block_of(t) << bits) - at_.first_chunk;
        for (std::uint32_t n = first; n < first + per_block; ++n) each(at_[n]);
        b.is_gone = true;
        at_.discard(first, per_block);
    }

private:
    static constexpr std::uint32_t bits = 10, per_block = std::uint32_t{1} << bits;
    struct block {
        std::atomic<std::uint32_t> unfinished{per_block}; ///< including nodes not made yet
        bool is_gone = false;                             ///< guarded by the graph's lock
    };

    /// Shifted so that a block lies in one chunk. The nodes before the first whole block make a block that is
    /// never released.
    static std::uint32_t block_of(std::uint32_t t) noexcept {
        return (t + stable_array<impl::graph_node>::first_chunk) >> bits;
    }

    const bool releases_;
    stable_array<impl::graph_node> at_;
    stable_array<block> blocks_;
};

} // namespace weft
