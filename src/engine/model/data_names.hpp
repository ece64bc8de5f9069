#pragma once

#include "engine/model/lru_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace weft::engine {

/// Names for the data that a program touches, which do not depend on where it lies: the first touch of some
/// bytes divides those that nobody has touched yet into blocks, numbered in the order in which they come. The
/// last block of such a piece may be smaller. Memory that is freed and allocated again keeps its names, as it
/// keeps its place in real caches.
class data_names {
public:
    explicit data_names(std::int64_t block_bytes) : block_bytes_(static_cast<std::uintptr_t>(block_bytes)) {}

    /// Calls `visit(block, fresh)` for each block that [first, first + bytes) meets, in the order of
    /// addresses.
    template <class Visit>
    void for_each_block(const void* first, std::size_t bytes, Visit&& visit) {
        auto at = reinterpret_cast<std::uintptr_t>(first);
        const std::uintptr_t end = at + bytes;
        while (at < end) {
            auto next = pieces_.upper_bound(at);
            if (next != pieces_.begin()) {
                const auto& [begin, known] = *std::prev(next);
                if (at < known.end) {
                    const std::uintptr_t until = std::min(end, known.end);
                    for (auto b = (at - begin) / block_bytes_; begin + b * block_bytes_ < until; ++b)
                        visit(known.first + static_cast<block_id>(b), false);
                    at = until;
                    continue;
                }
            }
            const std::uintptr_t until = next == pieces_.end() ? end : std::min(end, next->first);
            const auto named = static_cast<block_id>(sizes_.size());
            pieces_.emplace_hint(next, at, piece{until, named});
            for (; at < until; at += sizes_.back()) {
                sizes_.push_back(static_cast<std::uint32_t>(std::min(block_bytes_, until - at)));
                visit(static_cast<block_id>(sizes_.size() - 1), true);
            }
        }
    }

    std::int64_t bytes_of(block_id b) const { return sizes_[b]; }

private:
    struct piece {
        std::uintptr_t end;
        block_id first;
    };

    std::uintptr_t block_bytes_;
    std::map<std::uintptr_t, piece> pieces_; ///< by their first byte; they do not overlap
    std::vector<std::uint32_t> sizes_;
};

} // namespace weft::engine
