#pragma once

#include <bit>
#include <cstdint>
#include <list>
#include <unordered_map>

namespace weft::engine {

/// A number that stands for one block of data: data_names.hpp.
using block_id = std::uint32_t;
/// Parts of a block, a bit each: what is touched, moved and counted. A block is what a cache keeps track of.
using sectors = std::uint64_t;

inline int count(sectors s) noexcept { return std::popcount(s); }

/// A fully associative cache that gives up the block that was not used for longest. It may hold a part of a
/// block.
class lru_cache {
public:
    /// The capacity is in sectors.
    explicit lru_cache(std::int64_t capacity) : capacity_(capacity) {}

    /// What is there of the block.
    sectors find(block_id b) const {
        const auto at = where_.find(b);
        return at == where_.end() ? 0 : at->second->held;
    }
    std::int64_t size() const noexcept { return size_; } ///< sectors

    /// The same; if there is any, the block is the youngest now.
    sectors use(block_id b) {
        const auto at = where_.find(b);
        if (at == where_.end()) return 0;
        order_.splice(order_.begin(), order_, at->second);
        return at->second->held;
    }

    /// Takes in sectors that are not there; `left(block)` is told of each block that had to go, perhaps this
    /// one itself. True if none was there of this block before, and some are now.
    template <class Left>
    bool insert(block_id b, sectors s, Left&& left) {
        const auto [at, fresh] = where_.try_emplace(b);
        if (fresh)
            at->second = order_.insert(order_.begin(), {b, s});
        else
            at->second->held |= s, order_.splice(order_.begin(), order_, at->second);
        size_ += count(s);
        while (size_ > capacity_) {
            const entry oldest = order_.back();
            order_.pop_back();
            where_.erase(oldest.block);
            size_ -= count(oldest.held);
            if (oldest.block == b && fresh) return false;
            left(oldest.block);
        }
        return fresh;
    }

    /// Takes these sectors out; true if nothing is left of a block of which some were there.
    bool erase(block_id b, sectors s) {
        const auto at = where_.find(b);
        if (at == where_.end()) return false;
        size_ -= count(at->second->held & s);
        at->second->held &= ~s;
        if (at->second->held) return false;
        order_.erase(at->second);
        where_.erase(at);
        return true;
    }

private:
    struct entry {
        block_id block;
        sectors held;
    };

    std::int64_t capacity_;
    std::int64_t size_ = 0;
    std::list<entry> order_; ///< youngest first
    std::unordered_map<block_id, std::list<entry>::iterator> where_;
};

} // namespace weft::engine
