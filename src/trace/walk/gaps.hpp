#pragma once

#include "trace/walk/streams.hpp"
#include "trace/write/record.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::trace {

/// The stretches of time in which events of some worker found no room in the trace.
class gaps {
public:
    gaps(std::span<const record> records, const streams& all) {
        for (std::size_t w = 0; w < all.workers(); ++w) {
            std::int64_t before = 0;
            for (const std::uint32_t i : all.of(w)) {
                const auto at = static_cast<std::int64_t>(records[i].at);
                if (records[i].what_kind == kind::lost) all_.push_back({before, at});
                before = std::max(before, at);
            }
        }
        std::ranges::sort(all_, {}, &gap::end);
        // The ends ascend. With each begin lowered to the least of those behind it, one binary search finds
        // an overlap.
        for (std::size_t g = all_.size(); g > 1; --g)
            all_[g - 2].begin = std::min(all_[g - 2].begin, all_[g - 1].begin);
    }

    bool overlap(std::int64_t begin, std::int64_t end) const {
        const auto g = std::ranges::lower_bound(all_, begin, {}, &gap::end);
        return g != all_.end() && g->begin <= end;
    }

private:
    struct gap {
        std::int64_t begin, end;
    };
    std::vector<gap> all_;
};

} // namespace weft::trace
