#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

/// The part of the line of members that a task is spread over, and how it is divided.
///
///   S. Shiina: Almost deterministic work stealing. Master's thesis, University of Tokyo, 2021, 4.2.3, 4.3.2
///   and 4.3.5.
///
/// Member i is the interval [i, i + 1). These are values: they name no queue and no worker.
namespace weft {

struct work_range { ///< [from, to], the thesis' distribution range
    double from, to;

    /// The member that a task with this range is sent to.
    int owner() const noexcept { return static_cast<int>(from); }
    /// The task is a search root. Both ends are floored, so [3, 4] crosses: this is what gives every member a
    /// current node of the distribution tree.
    bool crosses() const noexcept { return static_cast<int>(from) != static_cast<int>(to); }

    /// Where the range is cut: the continuation keeps `share` of it, from the lower end, and the new task
    /// gets what is above (4.3.2). A cut close to an integer moves onto it, so that rounding errors do not
    /// change the owner. A cut at `end`, the number of members, moves to just below, since member `end` does
    /// not exist.
    double cut(double share, int end) const noexcept {
        constexpr double snap = 1e-4, below_end = 1e-5;
        double middle = from + (to - from) * share;
        if (std::abs(middle - std::round(middle)) < snap) middle = std::round(middle);
        if (middle >= end) middle = end - below_end;
        return std::clamp(middle, from, to);
    }
};

/// A range as thieves see it: whole members, both ends included (4.3.5). It fits one word, so that a thief
/// reads it consistently while the owner of a tree node writes a new one.
struct member_range {
    int level, lo, hi;
    bool edge; ///< the range ends on an integer, so `hi` lies wholly inside

    static member_range of(const work_range& r, int level) noexcept {
        const auto lo = static_cast<int>(r.from), hi = static_cast<int>(r.to);
        const bool edge = static_cast<double>(hi) == r.to && hi > lo;
        return {level, lo, edge ? hi - 1 : hi, edge};
    }
    bool contains(int member) const noexcept { return lo <= member && member <= hi; }

    std::uint64_t packed() const noexcept {
        return static_cast<std::uint64_t>(lo) | static_cast<std::uint64_t>(hi) << 20U |
               static_cast<std::uint64_t>(level) << 40U | std::uint64_t{edge} << 48U;
    }
    static member_range unpacked(std::uint64_t word) noexcept {
        constexpr std::uint64_t field = 0xfffff;
        return {static_cast<int>(word >> 40U & 0xffU), static_cast<int>(word & field),
                static_cast<int>(word >> 20U & field), (word >> 48U & 1U) != 0};
    }
};

} // namespace weft
