#pragma once

#include "machine/parts.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace weft::engine {

/// The number of a block of data, from 0 on: data_names.hpp.
using block_id = std::uint32_t;
/// A set of sectors of one block, a bit each. Sectors are touched, moved and counted; blocks are what a cache
/// keeps track of.
using sectors = std::uint64_t;

/// std::popcount calls a function of the compiler's library for x86-64 processors of any age. This is on every path of
/// a touch.
constexpr int count(sectors s) noexcept {
    s -= s >> 1 & 0x5555555555555555u;
    s = (s & 0x3333333333333333u) + (s >> 2 & 0x3333333333333333u);
    s = (s + (s >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<int>(s * 0x0101010101010101u >> 56);
}

/// A fully associative cache, which may hold a part of a block. It evicts the least recently used block, or a
/// random one. Every operation takes constant time on average, by a hash table and a list through the entries. There are
/// many caches and many more blocks, so a table is as large as what its cache holds: a few of them fit into the caches of
/// the machine that computes this.
class modelled_cache {
public:
    /// The capacity is in sectors.
    modelled_cache(std::int64_t capacity, replacement rule, std::uint32_t seed)
        : entries_(1)
        , capacity_(capacity)
        , rule_(rule)
        , random_(seed) {}

    /// The sectors of the block that the cache holds.
    sectors find(block_id b) const noexcept { return entries_[where(b)].held; }
    std::int64_t size() const noexcept { return size_; } ///< sectors
    /// The least recently used block; that of the last one, if the cache is empty.
    block_id oldest() const noexcept { return entries_[entries_[end].younger].block; }

    /// The same; if there are any, the block becomes the most recently used.
    sectors use(block_id b) noexcept {
        const index p = where(b);
        if (p != end) make_youngest(p);
        return entries_[p].held;
    }

    /// Inserts sectors that the cache does not hold. Calls `evicted(block)` for each block that had to go,
    /// except for this block if it is new. True if the cache held nothing of this block before, and holds
    /// some of it now.
    template <class Evicted>
    bool insert(block_id b, sectors s, Evicted&& evicted) {
        const index known = where(b);
        const bool fresh = known == end;
        const int more = count(s);
        if (fresh) {
            add({.block = b, .size = more, .held = s});
        } else {
            entries_[known].held |= s;
            entries_[known].size += more;
            make_youngest(known);
        }
        size_ += more;
        while (size_ > capacity_) {
            const index p = victim();
            const entry gone = entries_[p];
            remove(p);
            size_ -= gone.size;
            if (gone.block == b && fresh) return false;
            evicted(gone.block);
        }
        return fresh;
    }

    /// Removes these sectors. True if the cache held some of the block before, and holds none of it now.
    bool erase(block_id b, sectors s) noexcept {
        const index p = where(b);
        if (p == end) return false;
        entry& e = entries_[p];
        const int less = count(e.held & s);
        size_ -= less;
        e.size -= less;
        e.held &= ~s;
        if (e.held) return false;
        remove(p);
        return true;
    }

private:
    using index = std::uint32_t; ///< of an entry
    /// The entry between the youngest and the oldest one, which closes the ring: the next older entry is the
    /// youngest.
    static constexpr index end = 0;
    struct entry {
        index older = end, younger = end; ///< neighbours
        index next = end;                 ///< of the same bucket
        block_id block = 0;
        std::int32_t size = 0; ///< the number of the sectors that it holds
        sectors held = 0;
    };

    /// The entry to evict: never the youngest while there are others.
    index victim() noexcept {
        const index oldest = entries_[end].younger, youngest = entries_[end].older;
        if (rule_ == replacement::lru || oldest == youngest) return oldest;
        const auto drawn = 1 + static_cast<index>(random_() % (entries_.size() - 2));
        return drawn < youngest ? drawn : drawn + 1;
    }
    void link(index p) noexcept {
        const index next = entries_[end].older;
        entries_[p].younger = end;
        entries_[p].older = next;
        entries_[end].older = entries_[next].younger = p;
    }
    void unlink(index p) noexcept {
        entries_[entries_[p].younger].older = entries_[p].older;
        entries_[entries_[p].older].younger = entries_[p].younger;
    }
    void make_youngest(index p) noexcept { unlink(p), link(p); }
    /// `end`, which holds nothing, for a block that the cache does not hold.
    index where(block_id b) const noexcept {
        index p = buckets_[bucket_of(b)];
        while (p != end && entries_[p].block != b) p = entries_[p].next;
        return p;
    }
    std::size_t
    bucket_of(block_id b) const noexcept { // Fibonacci hashing: neighbours come into different buckets
        return static_cast<std::uint32_t>(b * 2654435769u) >> shift_;
    }
    void put_into_bucket(index p) noexcept {
        index& first = buckets_[bucket_of(entries_[p].block)];
        entries_[p].next = std::exchange(first, p);
    }
    /// What leads to the entry from its bucket.
    index& link_to(index p) noexcept {
        index* at = &buckets_[bucket_of(entries_[p].block)];
        while (*at != p) at = &entries_[*at].next;
        return *at;
    }
    void add(const entry& e) {
        const auto p = static_cast<index>(entries_.size());
        entries_.push_back(e);
        if (p > buckets_.size()) {
            --shift_;
            buckets_.assign(2 * buckets_.size(), end);
            for (index each = 1; each < p; ++each) put_into_bucket(each);
        }
        put_into_bucket(p);
        link(p);
    }
    /// The last entry moves to the removed index.
    void remove(index p) noexcept {
        unlink(p);
        link_to(p) = entries_[p].next;
        const auto last = static_cast<index>(entries_.size() - 1);
        if (p != last) {
            link_to(last) = p;
            entries_[p] = entries_[last];
            entries_[entries_[p].younger].older = entries_[entries_[p].older].younger = p;
        }
        entries_.pop_back();
    }

    std::vector<entry> entries_; ///< the first one is `end`, and holds nothing
    unsigned shift_ = 28;        ///< 32 less the logarithm of the number of buckets
    std::vector<index> buckets_ =
        std::vector<index>(std::size_t{1} << (32 - shift_), end); ///< the first entry of each
    std::int64_t capacity_;
    std::int64_t size_ = 0;
    replacement rule_;
    std::minstd_rand random_;
};

} // namespace weft::engine
