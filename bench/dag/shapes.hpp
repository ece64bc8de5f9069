// The graphs, the same for every runtime: rows of n tasks, each of which waits for tasks of its own row or of
// the one above.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dag {

using number = std::uint32_t; ///< of a task: row by row, from 0

/// Each task waits for the one above and the one on its left.
struct wavefront {
    number n;

    /// The tasks that the task in this place waits for; its own number where there is none.
    std::array<number, 2> before(number row, number column) const noexcept {
        const number at = row * n + column;
        return {row ? at - n : at, column ? at - 1 : at};
    }
};

/// Each waits for three of the row above, drawn by seed: not necessarily different ones.
struct layered {
    number n;
    std::uint64_t seed = 1;

    std::array<number, 3> before(number row, number column) const noexcept {
        const number at = row * n + column;
        if (row == 0) return {at, at, at};
        const number above = at - column - n;
        const std::uint64_t random = drawn(at);
        constexpr unsigned bits = 21; // of them for each: n is below 2^16, or the numbers would not do
        const auto one = [&](unsigned which) {
            const std::uint64_t part = random >> (which * bits) & ((1U << bits) - 1);
            return above + static_cast<number>(part * n >> bits);
        };
        return {one(0), one(1), one(2)};
    }

private:
    /// SplitMix64: any draw by itself, so that a check need not repeat all.
    std::uint64_t drawn(std::uint64_t at) const noexcept {
        std::uint64_t z = (at + seed) * 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
};

template <class Shape>
number size(const Shape& s) noexcept {
    return s.n * s.n;
}

/// `visit(task, before)` for all tasks, each after those that it waits for.
template <class Shape, class Visit>
void each_task(const Shape& s, Visit&& visit) {
    for (number row = 0; row < s.n; ++row)
        for (number column = 0; column < s.n; ++column) visit(row * s.n + column, s.before(row, column));
}

} // namespace dag
