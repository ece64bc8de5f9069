// In how many ways do n queens stand on an n x n board without attacking each other?
//
// One task for every square that is still free in the next row, a whole subtree each; subtrees differ much
// in size. Below `task_rows` rows the count goes on serially.
#pragma once

#include "../common/cost.hpp"

#include <weft/weft.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace examples {

// Number of solutions for n = 0 ... 16.
inline constexpr std::array<std::uint64_t, 17> nqueens_solutions = {
    1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184, 14772512};

// Attacked squares of the next row, one bit a column: by columns and by both diagonals.
struct board {
    unsigned n;
    unsigned columns = 0, falling = 0, rising = 0;

    unsigned free() const { return ~(columns | falling | rising) & ((1U << n) - 1); }
    board with(unsigned queen) const {
        return {n, columns | queen, (falling | queen) << 1, (rising | queen) >> 1};
    }
    int rows_left() const { return static_cast<int>(n) - std::popcount(columns); }
};

// Boards that were looked at and solutions among them, in one word: the word starts as one board instead of
// as nothing, so that counting boards costs no instruction. Up to 16 queens there are fewer than 2^31 boards.
struct nqueens_count {
    std::uint64_t word = std::uint64_t{1} << 32;

    std::uint64_t boards() const { return word >> 32; }
    std::uint64_t solutions() const { return word & 0xffffffff; }
};

// A board with its call, and with the end of the loop that called it, which no processor predicts.
inline constexpr double nqueens_cycles_per_board = 27;

inline nqueens_count nqueens_below(board b) {
    nqueens_count count;
    if (b.rows_left() == 0) return {count.word + 1};
    for (unsigned free = b.free(); free != 0; free &= free - 1) {
        count.word += nqueens_below(b.with(free & -free)).word;
    }
    return count;
}

inline std::uint64_t nqueens_serial(board b) { return nqueens_below(b).solutions(); }

// BEGIN-EXAMPLE nqueens
inline std::uint64_t nqueens(board b, int task_rows) {
    if (task_rows == 0 || b.rows_left() == 0) {
        nqueens_count count = nqueens_below(b);
        spend(count.boards(), nqueens_cycles_per_board); // known only now
        return count.solutions();
    }
    std::array<std::uint64_t, 32> solutions{};
    weft::task_group squares;
    std::size_t i = 0;
    for (unsigned free = b.free(); free != 0; free &= free - 1) {
        board next = b.with(free & -free);
        std::uint64_t& result = solutions[i++];
        squares.run([&result, next, task_rows] { result = nqueens(next, task_rows - 1); });
    }
    squares.wait();
    return std::accumulate(solutions.begin(), solutions.end(), std::uint64_t{0});
}
// END-EXAMPLE nqueens

// The boards with so many more queens.
inline void add_boards(board b, int rows, std::vector<board>& to) {
    if (rows == 0 || b.rows_left() == 0) return to.push_back(b);
    for (unsigned free = b.free(); free != 0; free &= free - 1)
        add_boards(b.with(free & -free), rows - 1, to);
}

// The same as a loop over these boards: loop(n, f) calls f(first, last) for parts of [0, n).
template <class Loop>
std::uint64_t nqueens_in_loops(board b, int rows, const Loop& loop,
                               std::vector<nqueens_count>* known = nullptr) {
    std::vector<board> boards;
    add_boards(b, rows, boards);
    std::vector<nqueens_count> counts;
    if (!known) known = &counts;
    const bool is_known = !known->empty();
    known->resize(boards.size());
    loop(boards.size(), [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            nqueens_count& count = (*known)[i];
            if (!is_known) count = nqueens_below(boards[i]);
            spend(count.boards(), nqueens_cycles_per_board);
        }
    });
    return std::accumulate(known->begin(), known->end(), std::uint64_t{0},
                           [](std::uint64_t sum, nqueens_count c) { return sum + c.solutions(); });
}

} // namespace examples
