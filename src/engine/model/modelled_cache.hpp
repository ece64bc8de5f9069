#pragma once

#include "machine/parts.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace weft::engine {

/// A number that stands for one block of data: data_names.hpp. They are given from 0 on.
using block_id = std::uint32_t;
/// Parts of a block, a bit each: what is touched, moved and counted. A block is what a cache keeps track of.
using sectors = std::uint64_t;

inline int count(sectors s) noexcept { return std::popcount(s); }

/// A fully associative cache, which may hold a part of a block. Which block it gives up is the one that was
/// not used for longest, or any of them with the same chance. Every operation takes constant time: a table by
/// block, and a list through the entries.
class modelled_cache {
public:
    /// The capacity is in sectors.
    modelled_cache(std::int64_t capacity, replacement rule, std::uint32_t seed)
        : entries_(1)
        , capacity_(capacity)
        , rule_(rule)
        , random_(seed) {}

    /// What is there of the block.
    sectors find(block_id b) const noexcept { return b < where_.size() ? entries_[where_[b]].held : 0; }
    std::int64_t size() const noexcept { return size_; } ///< sectors

    /// The same; if there is any, the block is the youngest now.
    sectors use(block_id b) noexcept {
        if (b >= where_.size() || where_[b] == end) return 0;
        make_youngest(where_[b]);
        return entries_[where_[b]].held;
    }

    /// Takes in sectors that are not there; `left(block)` is told of each block that had to go, perhaps this
    /// one itself. True if none was there of this block before, and some are now.
    template <class Left>
    bool insert(block_id b, sectors s, Left&& left) {
        if (b >= where_.size()) where_.resize(std::max<std::size_t>(b + 1, 2 * where_.size()), end);
        const bool fresh = where_[b] == end;
        if (fresh)
            add(b, s);
        else
            entries_[where_[b]].held |= s, make_youngest(where_[b]);
        size_ += count(s);
        while (size_ > capacity_) {
            const place p = chosen();
            const entry gone = entries_[p];
            remove(p);
            size_ -= count(gone.held);
            if (gone.block == b && fresh) return false;
            left(gone.block);
        }
        return fresh;
    }

    /// Takes these sectors out; true if nothing is left of a block of which some were there.
    bool erase(block_id b, sectors s) noexcept {
        if (b >= where_.size() || where_[b] == end) return false;
        entry& e = entries_[where_[b]];
        size_ -= count(e.held & s);
        e.held &= ~s;
        if (e.held) return false;
        remove(where_[b]);
        return true;
    }

private:
    using place = std::uint32_t; ///< of an entry
    /// The one between the youngest and the oldest, which closes the ring: the next older one is the
    /// youngest.
    static constexpr place end = 0;
    struct entry {
        place older = end, younger = end; ///< neighbours
        block_id block = 0;
        sectors held = 0;
    };

    /// Never the youngest while there are others.
    place chosen() noexcept {
        const place oldest = entries_[end].younger, youngest = entries_[end].older;
        if (rule_ == replacement::lru || oldest == youngest) return oldest;
        const auto drawn = 1 + static_cast<place>(random_() % (entries_.size() - 2));
        return drawn < youngest ? drawn : drawn + 1;
    }
    void link(place p) noexcept {
        const place next = entries_[end].older;
        entries_[p].younger = end;
        entries_[p].older = next;
        entries_[end].older = entries_[next].younger = p;
    }
    void unlink(place p) noexcept {
        entries_[entries_[p].younger].older = entries_[p].older;
        entries_[entries_[p].older].younger = entries_[p].younger;
    }
    void make_youngest(place p) noexcept { unlink(p), link(p); }
    void add(block_id b, sectors s) {
        const auto p = static_cast<place>(entries_.size());
        entries_.push_back({.block = b, .held = s});
        where_[b] = p;
        link(p);
    }
    /// The last entry takes its place.
    void remove(place p) noexcept {
        unlink(p);
        where_[entries_[p].block] = end;
        const auto last = static_cast<place>(entries_.size() - 1);
        if (p != last) {
            entries_[p] = entries_[last];
            entries_[entries_[p].younger].older = entries_[entries_[p].older].younger = p;
            where_[entries_[p].block] = p;
        }
        entries_.pop_back();
    }

    std::vector<entry> entries_; ///< the first is `end`, and holds nothing
    std::vector<place> where_;   ///< by block; `end`: not there
    std::int64_t capacity_;
    std::int64_t size_ = 0;
    replacement rule_;
    std::minstd_rand random_;
};

} // namespace weft::engine
