#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace weft {

/// A block of cells with N indices each: begin(d) <= index of dimension d < end(d). Dimension 0 is that of the rows (of
/// the planes, if there are three).
template <std::integral I, std::size_t N>
class block {
public:
    /// A grain of 0: the library chooses.
    constexpr block(const std::array<I, N>& begin, const std::array<I, N>& end,
                    const std::array<std::ptrdiff_t, N>& grain) noexcept
        : begin_(begin)
        , end_(end)
        , grain_(grain) {}

    constexpr I begin(std::size_t d) const noexcept { return begin_[d]; } ///< first index of dimension d
    constexpr I end(std::size_t d) const noexcept { return end_[d]; }     ///< one past its last index
    /// Length of a side; 0 if its end is not behind its begin.
    constexpr std::ptrdiff_t size(std::size_t d) const noexcept {
        return static_cast<std::ptrdiff_t>(length(d));
    }
    /// The longest side of a piece; 0: the library chooses.
    constexpr std::ptrdiff_t grain(std::size_t d) const noexcept { return grain_[d]; }
    /// The same block, no piece of which has a side longer than its grain in `longest`, and which is divided along the side
    /// that is longest relative to its grain. 0: the library chooses.
    constexpr block with_grains(const std::array<std::ptrdiff_t, N>& longest) const noexcept {
        return {begin_, end_, longest};
    }
    /// Number of cells.
    constexpr std::ptrdiff_t size() const noexcept {
        std::ptrdiff_t cells = 1;
        for (std::size_t d = 0; d < N; ++d) cells *= size(d);
        return cells;
    }
    /// There is no cell.
    constexpr bool empty() const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (length(d) == 0) return true;
        return false;
    }
    /// There are at most PTRDIFF_MAX cells. Loops refuse other blocks, and size() has no meaning for them.
    constexpr bool is_countable() const noexcept {
        if (empty()) return true;
        std::size_t most = PTRDIFF_MAX;
        for (std::size_t d = 0; d < N; ++d) {
            if (length(d) > most) return false;
            most /= length(d);
        }
        return true;
    }

    /// No side is longer than its grain.
    constexpr bool fits() const noexcept {
        for (std::size_t d = 0; d < N; ++d)
            if (grain_[d] > 0 && size(d) > grain_[d]) return false;
        return true;
    }
    /// Two parts of a block of two cells or more, cut across the side that is longest relative to its grain. The first
    /// part has about `of_both[0]` of each of_both[0] + of_both[1] rows, at least one.
    constexpr std::pair<block, block> parts(const std::array<std::ptrdiff_t, 2>& of_both) const noexcept {
        const std::size_t d = longest();
        const double share = static_cast<double>(of_both[0]) / static_cast<double>(of_both[0] + of_both[1]);
        constexpr auto many = std::ptrdiff_t{1} << 53; // beyond which a double cannot count
        const auto cut = size(d) < many ? static_cast<std::ptrdiff_t>(static_cast<double>(size(d)) * share)
                                        : static_cast<std::ptrdiff_t>(static_cast<double>(many) * share) *
                                              (size(d) / many);
        return cut_at(d, std::clamp(cut, std::ptrdiff_t{1}, size(d) - 1));
    }
    /// The same with two parts of the same size, or of sizes that differ by one row.
    constexpr std::pair<block, block> halves() const noexcept {
        const std::size_t d = longest();
        return cut_at(d, size(d) / 2);
    }

    /// The cells in the order of a program without tasks can be cut into blocks after each multiple of `unit()` cells.
    constexpr std::ptrdiff_t unit() const noexcept {
        std::ptrdiff_t cells = 1;
        for (std::size_t d = first_side() + 1; d < N; ++d) cells *= size(d);
        return cells;
    }
    /// Cells `from` to `to` of this order.
    constexpr block cells(std::ptrdiff_t from, std::ptrdiff_t to) const noexcept {
        const std::size_t d = first_side();
        const std::ptrdiff_t slice = unit();
        block b = *this;
        b.end_[d] = after(d, to / slice);
        b.begin_[d] = after(d, from / slice);
        return b;
    }

private:
    constexpr std::size_t length(std::size_t d) const noexcept { // modulo 2^64, which is more than any length
        return begin_[d] < end_[d] ? static_cast<std::size_t>(end_[d]) - static_cast<std::size_t>(begin_[d])
                                   : 0;
    }
    constexpr I after(std::size_t d, std::ptrdiff_t rows) const noexcept {
        return static_cast<I>(static_cast<std::size_t>(begin_[d]) + static_cast<std::size_t>(rows));
    }
    /// Of a block that is not empty: the first side that is longer than 1, or the last one.
    constexpr std::size_t first_side() const noexcept {
        std::size_t d = 0;
        while (d + 1 < N && size(d) == 1) ++d;
        return d;
    }
    /// Without grains, so many columns count as much as one row: long rows are read in the order of the memory, and are
    /// on fewer pages. (A sum of two matrices takes twice the time in square pieces.)
    static constexpr std::ptrdiff_t columns_a_row = 16;

    constexpr std::size_t longest() const noexcept {
        std::size_t longest = first_side();
        const auto relative = [this](std::size_t d) {
            const std::ptrdiff_t unit_of_side = grain_[d] > 0 ? grain_[d] : d + 1 == N ? columns_a_row : 1;
            return static_cast<double>(size(d)) / static_cast<double>(unit_of_side);
        };
        for (std::size_t d = longest + 1; d < N; ++d)
            if (size(d) > 1 && relative(d) > relative(longest)) longest = d;
        return longest;
    }
    constexpr std::pair<block, block> cut_at(std::size_t d, std::ptrdiff_t rows) const noexcept {
        std::pair<block, block> both{*this, *this};
        both.first.end_[d] = both.second.begin_[d] = after(d, rows);
        return both;
    }

    std::array<I, N> begin_, end_;
    std::array<std::ptrdiff_t, N> grain_;
};

/// The index pairs (i, j) with 0 <= i < rows and 0 <= j < columns. A loop divides them into blocks along the longer side,
/// where 16 columns count as one row, or by the grains of block::with_grains().
template <std::integral R, std::integral C>
constexpr block<std::common_type_t<R, C>, 2> range2d(R rows, C columns) noexcept {
    using I = std::common_type_t<R, C>;
    return {{I{0}, I{0}}, {static_cast<I>(rows), static_cast<I>(columns)}, {}};
}
/// The same for first_row <= i < last_row and first_column <= j < last_column.
template <std::integral R0, std::integral R1, std::integral C0, std::integral C1>
constexpr block<std::common_type_t<R0, R1, C0, C1>, 2> range2d(R0 first_row, R1 last_row, C0 first_column,
                                                               C1 last_column) noexcept {
    using I = std::common_type_t<R0, R1, C0, C1>;
    return {{static_cast<I>(first_row), static_cast<I>(first_column)},
            {static_cast<I>(last_row), static_cast<I>(last_column)},
            {}};
}

/// The index triples (i, j, k) with 0 <= i < planes, 0 <= j < rows, 0 <= k < columns; otherwise like range2d().
template <std::integral P, std::integral R, std::integral C>
constexpr block<std::common_type_t<P, R, C>, 3> range3d(P planes, R rows, C columns) noexcept {
    using I = std::common_type_t<P, R, C>;
    return {{I{0}, I{0}, I{0}}, {static_cast<I>(planes), static_cast<I>(rows), static_cast<I>(columns)}, {}};
}
/// The same from the first to before the last of each index: planes, rows, columns.
template <std::integral P0, std::integral P1, std::integral R0, std::integral R1, std::integral C0,
          std::integral C1>
constexpr block<std::common_type_t<P0, P1, R0, R1, C0, C1>, 3>
range3d(P0 first_plane, P1 last_plane, R0 first_row, R1 last_row, C0 first_column, C1 last_column) noexcept {
    using I = std::common_type_t<P0, P1, R0, R1, C0, C1>;
    return {{static_cast<I>(first_plane), static_cast<I>(first_row), static_cast<I>(first_column)},
            {static_cast<I>(last_plane), static_cast<I>(last_row), static_cast<I>(last_column)},
            {}};
}

} // namespace weft
