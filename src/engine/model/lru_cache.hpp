#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace weft::engine {

/// A number that stands for one block of data: data_names.hpp. They are given from 0 on.
using block_id = std::uint32_t;
/// Parts of a block, a bit each: what is touched, moved and counted. A block is what a cache keeps track of.
using sectors = std::uint64_t;

inline int count(sectors s) noexcept { return std::popcount(s); }

/// A fully associative cache that gives up the block that was not used for longest. It may hold a part of a
/// block. Every operation takes constant time: a table by block, and a list through the entries.
class lru_cache {
public:
    /// The capacity is in sectors.
    explicit lru_cache(std::int64_t capacity) : entries_(1), capacity_(capacity) {}

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
            const entry oldest = entries_[entries_[end].younger];
            remove(entries_[end].younger);
            size_ -= count(oldest.held);
            if (oldest.block == b && fresh) return false;
            left(oldest.block);
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
        place p = free_;
        if (p == end) {
            p = static_cast<place>(entries_.size());
            entries_.emplace_back();
        } else {
            free_ = entries_[p].older;
        }
        entries_[p].block = b;
        entries_[p].held = s;
        where_[b] = p;
        link(p);
    }
    void remove(place p) noexcept {
        unlink(p);
        where_[entries_[p].block] = end;
        entries_[p].older = free_;
        free_ = p;
    }

    std::vector<entry> entries_; ///< the first is `end`, and holds nothing
    std::vector<place> where_;   ///< by block; `end`: not there
    place free_ = end;           ///< entries that are not in use, through `older`
    std::int64_t capacity_;
    std::int64_t size_ = 0;
};

} // namespace weft::engine
