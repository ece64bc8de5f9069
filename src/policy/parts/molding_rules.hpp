#pragma once

#include "policy/parts/elastic_places.hpp"
#include "policy/seam/policy.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

/// How wide a moldable task runs: XiTAO (elastic_places.hpp), section 3.3. Functions of figures, without state.
namespace weft {

/// By the load: if fewer tasks are ready than cores are free, the task takes its part of the free cores. Nothing if the load
/// is too high for that. `ready` includes the task. The source gives no formula; this one is ours.
constexpr std::optional<int> width_by_load(int hint, int free, int ready) noexcept {
    if (ready >= free) return std::nullopt;
    return std::max(hint, power_of_two_below(free / std::max(1, ready)));
}

/// The times of the widths 1, 2, 4 ... of a place; 0: never measured.
using times_by_width = std::array<time_ns, 7>;

/// By history: the width with the least product of time and width, of all up to `widest`. A width that was never measured
/// wins, so that it is tried. The present width stays unless another product is smaller. `literal`: another product must be
/// smaller than the present *time*, as the source's text has it, so a place can become no narrower.
constexpr int width_by_history(int now, int widest, const times_by_width& times, bool literal) noexcept {
    const auto time = [&](int width) { return times[static_cast<std::size_t>(log2_of_width(width))]; };
    if (time(now) == 0) return now;
    int best = now;
    time_ns least = literal ? time(now) : time(now) * now;
    for (int width = 1; width <= widest; width *= 2) {
        if (width == now) continue;
        if (time(width) == 0) return width;
        if (time(width) * width >= least) continue;
        best = width;
        least = time(width) * width;
    }
    return best;
}

} // namespace weft
