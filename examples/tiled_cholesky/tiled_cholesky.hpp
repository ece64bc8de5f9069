// Cholesky factorisation A = L L^T of a dense, symmetric, positive definite matrix by tiles, as a graph of
// tasks.
//
//   A. Buttari, J. Langou, J. Kurzak, J. Dongarra: A class of parallel tiled linear algebra algorithms for
//   multicore architectures. Parallel Computing 35(1), 2009.
//
// A loop writes down the four kernels in the order of a serial program; what they read and write says the
// rest. No step waits for the whole of the one before. Each tile is changed in the order of the steps, so the
// result has the same bits whatever the schedule.
#pragma once

#include "../common/blas.hpp"
#include "../common/spd_tiles.hpp"
#include "../common/tiles.hpp"

#include <weft/weft.hpp>

#include <cstddef>

namespace examples {

// BEGIN-EXAMPLE tiled_cholesky
// Adds the tasks that make the factor of what is in `a`, in its lower triangle.
template <class Graph, class Matrix>
void add_cholesky(Graph& dag, const Matrix& a) {
    const std::size_t tiles = a.tiles();
    const tiled_way way{tiles};
    using weft::read, weft::readwrite, weft::name, weft::priority;
    for (std::size_t k = 0; k < tiles; ++k) {
        tile kk = a(k, k);
        dag.add([=] { blas::potrf(kk); }, readwrite(kk.datum()), name("potrf"), priority(way.factor(k)));
        for (std::size_t i = k + 1; i < tiles; ++i) {
            tile ik = a(i, k);
            dag.add([=] { blas::solve_transposed(kk, ik); }, read(kk.datum()), readwrite(ik.datum()),
                    name("trsm"), priority(way.solve(i, k)));
        }
        for (std::size_t i = k + 1; i < tiles; ++i) {
            tile ik = a(i, k), ii = a(i, i);
            for (std::size_t j = k + 1; j < i; ++j) {
                tile jk = a(j, k), ij = a(i, j);
                dag.add([=] { blas::subtract_product(ik, jk, ij, CblasTrans); }, read(ik.datum()),
                        read(jk.datum()), readwrite(ij.datum()), name("gemm"),
                        priority(way.subtract(i, j, k)));
            }
            dag.add([=] { blas::subtract_square(ik, ii); }, read(ik.datum()), readwrite(ii.datum()),
                    name("syrk"), priority(way.subtract(i, i, k)));
        }
    }
}
// END-EXAMPLE tiled_cholesky

} // namespace examples
