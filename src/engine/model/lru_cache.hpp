#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace weft::engine {

/// A number that stands for one block of data: data_names.hpp.
using block_id = std::uint32_t;

/// A fully associative cache of blocks that gives up the one that was not used for longest.
class lru_cache {
public:
    explicit lru_cache(std::int64_t capacity_bytes) : capacity_(capacity_bytes) {}

    bool contains(block_id b) const { return where_.contains(b); }
    std::int64_t bytes() const noexcept { return held_; }
    std::size_t size() const noexcept { return where_.size(); }

    /// True if the block is there: it is the youngest now.
    bool use(block_id b) {
        const auto at = where_.find(b);
        if (at == where_.end()) return false;
        order_.splice(order_.begin(), order_, at->second);
        return true;
    }

    /// Takes in a block that is not there; `left(b)` is told of each that had to go. One larger than the
    /// cache is not taken.
    template <class Left>
    bool insert(block_id b, std::int64_t bytes, Left&& left) {
        if (bytes > capacity_) return false;
        held_ += bytes;
        while (held_ > capacity_) {
            const entry oldest = order_.back();
            order_.pop_back();
            where_.erase(oldest.block);
            held_ -= oldest.bytes;
            left(oldest.block);
        }
        order_.push_front({b, bytes});
        where_.emplace(b, order_.begin());
        return true;
    }

    /// True if it was there.
    bool erase(block_id b) {
        const auto at = where_.find(b);
        if (at == where_.end()) return false;
        held_ -= at->second->bytes;
        order_.erase(at->second);
        where_.erase(at);
        return true;
    }

private:
    struct entry {
        block_id block;
        std::int64_t bytes;
    };

    std::int64_t capacity_;
    std::int64_t held_ = 0;
    std::list<entry> order_; ///< youngest first
    std::unordered_map<block_id, std::list<entry>::iterator> where_;
};

} // namespace weft::engine
