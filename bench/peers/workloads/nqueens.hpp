// Queens on a board: a group in each node, a child for each free square of the next row, no cut-off.
#pragma once

#include "needs.hpp"

#include <nqueens/nqueens.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>

namespace peers {

struct nqueens {
    static constexpr std::string_view name = "nqueens", needs = "task groups";
    static constexpr int size = 13, warm = 9;

    explicit nqueens(int given) : n(static_cast<unsigned>(given)) {}

    template <groups Strand>
    static std::uint64_t from(const examples::board& b) {
        if (b.rows_left() == 0) return 1;
        std::array<std::uint64_t, 16> solutions{};
        typename Strand::group squares;
        std::size_t i = 0;
        for (unsigned free = b.free(); free != 0; free &= free - 1) {
            squares.run([&found = solutions[i++], next = b.with(free & -free)](Strand) {
                found = from<Strand>(next);
            });
        }
        squares.wait();
        return std::accumulate(solutions.begin(), solutions.end(), std::uint64_t{0});
    }

    template <groups Strand>
    void run(Strand) {
        answer = from<Strand>({n});
    }
    bool is_right() const { return answer == examples::nqueens_solutions[n]; }

    unsigned n;
    std::uint64_t answer = 0;
};

} // namespace peers
