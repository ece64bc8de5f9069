// LU factorisation of a dense matrix by tiles, as a graph of tasks. Rows are exchanged within the diagonal
// tiles only: A = L U, where the rows of each diagonal tile of L are exchanged. That is enough for matrices
// whose diagonal tiles outweigh the rest of their columns.
//
//   A. Buttari, J. Langou, J. Kurzak, J. Dongarra: A class of parallel tiled linear algebra algorithms for
//   multicore architectures. Parallel Computing 35(1), 2009. There rows are exchanged between pairs of tiles.
//
// Each tile is changed in the order of the steps, so the result has the same bits whatever the schedule.
#pragma once

#include "../common/blas.hpp"
#include "../common/cost.hpp"
#include "../common/random.hpp"
#include "../common/residual.hpp"
#include "../common/tiles.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace examples {

inline constexpr double tiled_lu_cycles_per_entry = 5.4;

// BEGIN-EXAMPLE tiled_lu
// Adds the tasks that make L and U of what is in `a`, in its place (L has ones on its diagonal), and the
// exchanges of rows: as many numbers as `a` has rows.
inline void add_lu(weft::graph& dag, const tiled_matrix& a, int* pivots) {
    const std::size_t tiles = a.tiles();
    const tiled_way way{tiles};
    using weft::read, weft::write, weft::readwrite, weft::name, weft::priority;
    for (std::size_t k = 0; k < tiles; ++k) {
        tile kk = a(k, k);
        std::span exchanged(pivots + k * a.side(), kk.rows);
        dag.add([=] { blas::getrf(kk, exchanged.data()); }, readwrite(kk.datum()), write(exchanged),
                name("getrf"), priority(way.factor(k)));
        for (std::size_t i = k + 1; i < tiles; ++i) {
            tile ik = a(i, k), ki = a(k, i);
            dag.add([=] { blas::solve_upper(kk, ik); }, read(kk.datum()), readwrite(ik.datum()), name("trsm"),
                    priority(way.solve(i, k)));
            dag.add([=] { blas::solve_lower(kk, exchanged.data(), ki); }, read(kk.datum()), read(exchanged),
                    readwrite(ki.datum()), name("swap_trsm"), priority(way.solve(i, k)));
        }
        for (std::size_t j = k + 1; j < tiles; ++j) {
            for (std::size_t i = k + 1; i < tiles; ++i) {
                tile ik = a(i, k), kj = a(k, j), ij = a(i, j);
                dag.add([=] { blas::subtract_product(ik, kj, ij); }, read(ik.datum()), read(kj.datum()),
                        readwrite(ij.datum()), name("gemm"), priority(way.subtract(i, j, k)));
            }
        }
    }
}
// END-EXAMPLE tiled_lu

// Entry of a matrix with random numbers from -1 to 1, and n more where a row of each diagonal tile meets the
// column of its mirror image in the tile: without exchanges the pivots would be small.
inline double tiled_lu_entry(std::size_t n, std::size_t side, std::uint64_t seed, std::size_t i,
                             std::size_t j) {
    const std::size_t first = i - i % side, last = std::min(first + side, n) - 1;
    const double random = random_from_minus_1_to_1(seed, i * n + j);
    return i - first == last - j ? random + static_cast<double>(n) : random;
}

inline void tiled_lu_fill(const tiled_matrix& a, std::uint64_t seed) {
    fill_tiles(a, tiled_lu_cycles_per_entry,
               [n = a.size(), side = a.side(), seed](std::size_t i, std::size_t j) {
                   return tiled_lu_entry(n, side, seed, i, j);
               });
}

// ||A - L U|| / ||A||
inline double tiled_lu_residual(const tiled_matrix& lu, const std::vector<int>& pivots, std::uint64_t seed) {
    const std::size_t n = lu.size(), side = lu.side();
    auto product = [&](const std::vector<double>& x) {
        std::vector<double> upper(n), result(n), diagonal(n); // U x; L (U x), its diagonal tiles apart
        for_each_number(lu, [&](std::size_t i, std::size_t j, double value) {
            if (i <= j) upper[i] += value * x[j];
        });
        for_each_number(lu, [&](std::size_t i, std::size_t j, double value) {
            if (i == j) {
                diagonal[i] += upper[i];
            } else if (i > j) {
                (i / side == j / side ? diagonal : result)[i] += value * upper[j];
            }
        });
        for (std::size_t i = n; i-- > 0;) {
            std::swap(diagonal[i], diagonal[i - i % side + static_cast<std::size_t>(pivots[i]) - 1]);
        }
        for (std::size_t i = 0; i < n; ++i) result[i] += diagonal[i];
        return result;
    };
    return relative_residual(
        n, seed, [&](std::size_t i, std::size_t j) { return tiled_lu_entry(n, side, seed, i, j); }, product);
}

} // namespace examples
