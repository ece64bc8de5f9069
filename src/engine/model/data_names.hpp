#pragma once

#include "engine/model/modelled_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace weft::engine {

/// Names for the data that a program touches, independent of their addresses. The first touch of a range
/// divides those of its bytes that were never touched before into blocks, which are numbered in the order in
/// which they come. Memory that is freed and allocated again keeps its names, as it keeps its place in real
/// caches.
class data_names {
public:
    explicit data_names(std::int64_t block_bytes) : block_bytes_(static_cast<std::uintptr_t>(block_bytes)) {}
    data_names(const data_names&) = delete; // `last_` points into it
    data_names& operator=(const data_names&) = delete;

    /// Calls `visit(block, fresh, first, last)` for each block that overlaps [data, data + bytes), in the
    /// order of addresses. [first, last) are the bytes of the block in the overlap; `fresh`: the block was
    /// made by this call.
    template <class Visit>
    void for_each_block(const void* data, std::size_t bytes, Visit&& visit) {
        auto at = reinterpret_cast<std::uintptr_t>(data);
        const std::uintptr_t end = at + bytes;
        while (at < end) {
            if (const entry* const known = follow(at)) {
                const auto& [begin, its] = *known;
                at = visit_all(begin, its.first, at, std::min(end, its.end), false, visit);
                continue;
            }
            const auto next = pieces_.upper_bound(at);
            const std::uintptr_t until = next == pieces_.end() ? end : std::min(end, next->first);
            pieces_.emplace_hint(next, at, piece{.end = until, .first = named_});
            const block_id first = named_;
            named_ += static_cast<block_id>((until - at + block_bytes_ - 1) / block_bytes_);
            at = visit_all(at, first, at, until, true, visit);
        }
    }

    /// The block of the byte at `data`, if that byte was ever touched.
    std::optional<block_id> find(const void* data) const {
        const auto at = reinterpret_cast<std::uintptr_t>(data);
        const auto next = pieces_.upper_bound(at);
        if (next == pieces_.begin()) return std::nullopt;
        const auto& [begin, known] = *std::prev(next);
        if (at >= known.end) return std::nullopt;
        return known.first + static_cast<block_id>((at - begin) / block_bytes_);
    }

private:
    struct piece;
    using entry = std::pair<const std::uintptr_t, piece>;
    struct piece {
        std::uintptr_t end;
        block_id first;
        /// What was touched after it: the piece behind it, and the last two others. The first of these two was the last.
        entry *behind = nullptr, *then = nullptr, *before_that = nullptr;

        entry*& guess(std::uintptr_t at) noexcept { return at == end ? behind : then; }
    };

    static bool has(const entry* e, std::uintptr_t at) noexcept {
        return e && e->first <= at && at < e->second.end;
    }
    /// The piece of the byte that is touched now; null if it was never touched. Touches that follow each other are often
    /// in one piece, or in two that have followed each other before. A plate whose squares were touched first has a piece
    /// for each row of each square, half a million of them.
    entry* follow(std::uintptr_t at) {
        if (has(last_, at)) return last_;
        if (!last_) return last_ = look_up(at);
        piece& from = last_->second;
        entry*& guess = from.guess(at);
        if (has(guess, at)) return last_ = guess;
        entry* const found = has(from.before_that, at) ? from.before_that : look_up(at);
        if (!found) return nullptr;
        if (&guess == &from.then) from.before_that = guess;
        guess = found;
        return last_ = found;
    }
    entry* look_up(std::uintptr_t at) {
        const auto next = pieces_.upper_bound(at);
        entry* const found = next == pieces_.begin() ? nullptr : &*std::prev(next);
        return has(found, at) ? found : nullptr;
    }

    template <class Visit>
    std::uintptr_t visit_all(std::uintptr_t begin, block_id first, std::uintptr_t at, std::uintptr_t until,
                             bool fresh, Visit& visit) {
        while (at < until) {
            const std::uintptr_t n = (at - begin) / block_bytes_, base = begin + n * block_bytes_;
            const std::uintptr_t last = std::min(until, base + block_bytes_);
            visit(first + static_cast<block_id>(n), fresh, static_cast<std::size_t>(at - base),
                  static_cast<std::size_t>(last - base));
            at = last;
        }
        return at;
    }

    std::uintptr_t block_bytes_;
    std::map<std::uintptr_t, piece>
        pieces_;            ///< by their first byte; no two overlap, and none is ever removed
    entry* last_ = nullptr; ///< that was found
    block_id named_ = 0;
};

} // namespace weft::engine
