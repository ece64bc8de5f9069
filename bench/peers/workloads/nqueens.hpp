// Queens on a board: a fork for each free square of the next row, that square or the others; no cut-off.
#pragma once

#include "needs.hpp"

#include <nqueens/nqueens.hpp>

#include <cstdint>
#include <string_view>

namespace peers {

struct nqueens {
    static constexpr std::string_view name = "nqueens", needs = "forks";
    static constexpr int size = 13, warm = 9;

    explicit nqueens(int given) : n(static_cast<unsigned>(given)) {}

    template <forks Strand>
    static std::uint64_t from(Strand here, const examples::board& b) {
        if (b.rows_left() == 0) return 1;
        return with_one_of(here, b, b.free());
    }
    template <forks Strand>
    static std::uint64_t with_one_of(Strand here, const examples::board& b, unsigned squares) {
        if (squares == 0) return 0;
        const unsigned others = squares & (squares - 1);
        const examples::board next = b.with(squares & -squares);
        if (others == 0) return from(here, next);
        const auto [a, rest] = here.fork([next](Strand s) { return from(s, next); },
                                         [&b, others](Strand s) { return with_one_of(s, b, others); });
        return a + rest;
    }

    template <forks Strand>
    void run(Strand here) {
        answer = from(here, {n});
    }
    bool is_right() const { return answer == examples::nqueens_solutions[n]; }

    unsigned n;
    std::uint64_t answer = 0;
};

} // namespace peers
