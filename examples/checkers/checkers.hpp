// English draughts: the value of a position by looking at every course of play for some moves. CK of Chen and
// Guo: rudimentary checkers, as in the MIT Cilk package.
//
// A task for every move, in the first plies of the tree; below them it goes on serially. Nothing is cut off,
// so the number of positions is known (checkers_positions), and the answer does not depend on the schedule.
#pragma once

#include "../common/cost.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace examples {

// A position whose moves are made, one of the last ply,
// or one that is lost.
inline constexpr double checkers_cycles_per_position = 310;

// Positions after so many plies from the start, as others have counted them. (A. Bik: Computing deep perft
// and divide numbers for checkers, ICGA Journal 35(4), 2012.)
inline constexpr std::array<std::uint64_t, 11> checkers_positions = {
    1, 7, 49, 302, 1469, 7361, 36768, 179740, 845931, 3963680, 18391564};

// The 32 dark squares by rows of four, a bit each, seen by the side that is to move: its men go up.
struct checkers_board {
    std::uint32_t own = 0x00000fff, other = 0xfff00000, kings = 0; // kings of both sides

    std::uint32_t free() const { return ~(own | other); }
    checkers_board seen_by_the_other() const { return {turned(other), turned(own), turned(kings)}; }

    // In men, for the side that is to move; a king is worth one and a half.
    int halves_of_men() const { return worth(own) - worth(other); }

    friend bool operator==(const checkers_board&, const checkers_board&) = default;

private:
    static std::uint32_t turned(std::uint32_t bits) {
        std::uint32_t result = 0;
        for (int i = 0; i < 32; ++i) result |= (bits >> i & 1) << (31 - i);
        return result;
    }
    int worth(std::uint32_t side) const { return 2 * std::popcount(side) + std::popcount(side & kings); }
};

namespace checkers {

inline constexpr int nowhere = -1;

// The neighbour of a square up left, up right, down left, down right.
constexpr int neighbour(int square, int direction) {
    const int row = square / 4, column = 2 * (square % 4) + (row % 2 == 0 ? 1 : 0);
    const int to_row = row + (direction < 2 ? 1 : -1), to_column = column + (direction % 2 == 0 ? -1 : 1);
    if (to_row < 0 || to_row > 7 || to_column < 0 || to_column > 7) return nowhere;
    return to_row * 4 + to_column / 2;
}

inline constexpr auto neighbours = [] {
    std::array<std::array<int, 4>, 32> all{};
    for (std::size_t s = 0; s < 32; ++s) {
        for (std::size_t d = 0; d < 4; ++d) all[s][d] = neighbour(static_cast<int>(s), static_cast<int>(d));
    }
    return all;
}();

inline int neighbour_of(int square, std::size_t direction) {
    return neighbours[static_cast<std::size_t>(square)][direction];
}

inline std::uint32_t bit(int square) { return std::uint32_t{1} << square; }
inline bool is_last_row(int square) { return square >= 28; }

} // namespace checkers

// The positions that one move leads to, seen by the side that is to move then. A player that can take must take, and
// goes on taking while the same piece can; a man that reaches the last row becomes a king and stops there.
class checkers_moves {
public:
    explicit checkers_moves(const checkers_board& from) {
        for_each_own(from, [&](int square) { add_takes(from, square, false); });
        if (count_ == 0) for_each_own(from, [&](int square) { add_steps(from, square); });
    }

    std::size_t size() const { return count_; }
    const checkers_board* begin() const { return to_.data(); }
    const checkers_board* end() const { return to_.data() + count_; }

private:
    template <class Use>
    static void for_each_own(const checkers_board& from, Use&& use) {
        for (std::uint32_t own = from.own; own != 0; own &= own - 1) use(std::countr_zero(own));
    }

    static std::size_t directions(const checkers_board& at, int square) {
        return at.kings & checkers::bit(square) ? 4 : 2;
    }

    static checkers_board moved(checkers_board board, int from, int to) {
        using checkers::bit;
        const bool king = board.kings & bit(from);
        board.own ^= bit(from) | bit(to);
        board.kings &= ~bit(from);
        if (king || checkers::is_last_row(to)) board.kings |= bit(to);
        return board;
    }

    void add(const checkers_board& board) {
        if (count_ == to_.size()) throw std::length_error("checkers: too many moves from one position");
        to_[count_++] = board.seen_by_the_other();
    }

    void add_steps(const checkers_board& from, int square) {
        for (std::size_t d = 0; d < directions(from, square); ++d) {
            const int to = checkers::neighbour_of(square, d);
            if (to != checkers::nowhere && from.free() & checkers::bit(to)) add(moved(from, square, to));
        }
    }

    // `taking`: the piece on `square` has taken already, and this position counts if it can take no more.
    void add_takes(const checkers_board& from, int square, bool taking) {
        using checkers::bit;
        bool more = false;
        for (std::size_t d = 0; d < directions(from, square); ++d) {
            const int over = checkers::neighbour_of(square, d);
            if (over == checkers::nowhere || !(from.other & bit(over))) continue;
            const int to = checkers::neighbour_of(over, d);
            if (to == checkers::nowhere || !(from.free() & bit(to))) continue;
            more = true;
            const bool crowned = !(from.kings & bit(square)) && checkers::is_last_row(to);
            checkers_board board = moved(from, square, to);
            board.other &= ~bit(over);
            board.kings &= ~bit(over);
            if (crowned) {
                add(board);
            } else {
                add_takes(board, to, true);
            }
        }
        if (taking && !more) add(from);
    }

    std::array<checkers_board, 128> to_;
    std::size_t count_ = 0;
};

struct checkers_value {
    int best;                // for the side that is to move
    std::uint64_t positions; // at the end of the plies
    std::uint64_t looked_at; // on the way as well
};

// A player that cannot move has lost.
inline constexpr int checkers_lost = -1000;

inline checkers_value checkers_serial(const checkers_board& board, int plies) {
    if (plies == 0) return {board.halves_of_men(), 1, 1};
    checkers_value value{checkers_lost, 0, 1};
    for (const checkers_board& next : checkers_moves(board)) {
        const checkers_value then = checkers_serial(next, plies - 1);
        value.best = std::max(value.best, -then.best);
        value.positions += then.positions;
        value.looked_at += then.looked_at;
    }
    return value;
}

// BEGIN-EXAMPLE checkers
inline checkers_value checkers_search(const checkers_board& board, int plies, int task_plies) {
    if (task_plies == 0 || plies == 0) {
        const checkers_value value = checkers_serial(board, plies);
        spend(value.looked_at, checkers_cycles_per_position); // known only now
        return value;
    }
    const checkers_moves moves(board);
    spend(1, checkers_cycles_per_position);
    std::array<checkers_value, 128> then;
    weft::task_group group;
    std::size_t i = 0;
    for (const checkers_board& next : moves) {
        checkers_value& result = then[i++];
        group.run([&result, &next, plies,
                   task_plies] { result = checkers_search(next, plies - 1, task_plies - 1); },
                  weft::hints{.work = 1}); // it is not known which move is more work
    }
    group.wait();
    checkers_value value{checkers_lost, 0, 1};
    for (i = 0; i < moves.size(); ++i) {
        value.best = std::max(value.best, -then[i].best);
        value.positions += then[i].positions;
        value.looked_at += then[i].looked_at;
    }
    return value;
}
// END-EXAMPLE checkers

} // namespace examples
