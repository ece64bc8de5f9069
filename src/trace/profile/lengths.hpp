#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::trace {

/// A burden is what it takes to bring a task to another worker and its result back. Paths are measured under several burdens
/// at once, so that the file serves machines with other costs.
inline constexpr std::array<std::int64_t, 3> burdens_ns{1'000, 8'000, 64'000};

/// The length of a path without a burden, and under each burden. In the unit of the events' times.
struct lengths {
    std::array<std::int64_t, 1 + burdens_ns.size()> of{};

    std::int64_t plain() const noexcept { return of[0]; }
    void add(std::int64_t time) noexcept {
        for (auto& l : of) l += time;
    }
    void add(const lengths& more) noexcept {
        for (std::size_t k = 0; k < of.size(); ++k) of[k] += more.of[k];
    }
    /// None of them is longer than `most`.
    lengths at_most(std::int64_t most) const noexcept {
        lengths l = *this;
        for (auto& one : l.of) one = std::min(one, most);
        return l;
    }
    friend lengths operator-(lengths a, const lengths& b) noexcept {
        for (std::size_t k = 0; k < a.of.size(); ++k) a.of[k] -= b.of[k];
        return a;
    }
    friend bool operator==(const lengths&, const lengths&) = default;
};

/// Where a path comes to that goes on when both have come to their ends.
inline lengths both(lengths a, const lengths& b) noexcept {
    for (std::size_t k = 0; k < a.of.size(); ++k) a.of[k] = std::max(a.of[k], b.of[k]);
    return a;
}

/// Likewise, where the end of `b` may be on another worker: the shorter of the two ways to do it, side by side for the burden,
/// or one after the other. `serial`: what `b` adds to `a` if it runs after it.
inline lengths side_by_side(lengths a, const lengths& b, const lengths& serial,
                            const lengths& burden) noexcept {
    for (std::size_t k = 0; k < a.of.size(); ++k)
        a.of[k] = std::min(std::max(a.of[k], b.of[k]) + burden.of[k], a.of[k] + serial.of[k]);
    return a;
}

} // namespace weft::trace
