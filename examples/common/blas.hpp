// The steps of factorisations by tiles, by OpenBLAS: each in the thread that calls it, and with what it
// declares.
#pragma once

#include "cost.hpp"
#include "tiles.hpp"

#include <cblas.h>

#include <cstddef>
#include <stdexcept>
#include <string>

// LAPACK's own names; OpenBLAS has them, its C header has not.
extern "C" {
void dpotrf_(const char* triangle, const int* n, double* a, const int* stride, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* stride, int* pivots, int* info);
void dlaswp_(const int* n, double* a, const int* stride, const int* first, const int* last, const int* pivots,
             const int* step);
}

namespace examples {

inline constexpr std::size_t blas_tile = 256;

// A product of two numbers and its subtraction, in tiles of 256 x 256; in those that are divided by L the
// exchange of rows included.
inline constexpr double gemm_cycles_per_product = 0.14, syrk_cycles_per_product = 0.19,
                        trsm_cycles_per_product = 0.26, swap_trsm_cycles_per_product = 0.37,
                        potrf_cycles_per_product = 0.27, getrf_cycles_per_product = 0.3;

// Tasks run beside each other, not the threads of a kernel. OpenBLAS that was built with OpenMP asks each calling thread
// for its number of threads, so each one has to say so; before the others do, the first one prepares OpenBLAS's buffers.
inline void blas_in_calling_thread() {
    [[maybe_unused]] thread_local const bool said = (openblas_set_num_threads(1), true);
}

namespace blas {

inline int length(std::size_t n) { return static_cast<int>(n); }

inline void touch(const tile& t, weft::access how) { touch_block(t.values, t.cols, t.rows, t.stride, how); }

// The lower triangle of a tile becomes its Cholesky factor.
inline void potrf(const tile& a) {
    blas_in_calling_thread();
    touch(a, weft::access::readwrite);
    spend(a.rows * a.rows * a.rows / 6, potrf_cycles_per_product);
    const int n = length(a.rows), stride = length(a.stride);
    int info = 0;
    dpotrf_("L", &n, a.values, &stride, &info);
    if (info != 0) throw std::runtime_error("potrf: no positive definite matrix, " + std::to_string(info));
}

// A = P L U; row i was exchanged with row pivots[i], counted from 1.
inline void getrf(const tile& a, int* pivots) {
    blas_in_calling_thread();
    touch(a, weft::access::readwrite);
    weft::touch(pivots, a.rows * sizeof(int), weft::access::write);
    spend(a.rows * a.rows * a.rows / 3, getrf_cycles_per_product);
    const int n = length(a.rows), stride = length(a.stride);
    int info = 0;
    dgetrf_(&n, &n, a.values, &stride, pivots, &info);
    if (info != 0) throw std::runtime_error("getrf: a singular matrix, " + std::to_string(info));
}

// B L^-T for a lower triangle L.
inline void solve_transposed(const tile& l, const tile& b) {
    blas_in_calling_thread();
    touch(l, weft::access::read);
    touch(b, weft::access::readwrite);
    spend(b.rows * b.cols * b.cols / 2, trsm_cycles_per_product);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, length(b.rows),
                length(b.cols), 1, l.values, length(l.stride), b.values, length(b.stride));
}

// B U^-1 for the upper triangle U of `lu`.
inline void solve_upper(const tile& lu, const tile& b) {
    blas_in_calling_thread();
    touch(lu, weft::access::read);
    touch(b, weft::access::readwrite);
    spend(b.rows * b.cols * b.cols / 2, trsm_cycles_per_product);
    cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, length(b.rows),
                length(b.cols), 1, lu.values, length(lu.stride), b.values, length(b.stride));
}

// L^-1 P^-1 B, where `lu` and `pivots` are what getrf() has made.
inline void solve_lower(const tile& lu, const int* pivots, const tile& b) {
    blas_in_calling_thread();
    touch(lu, weft::access::read);
    weft::touch(pivots, lu.rows * sizeof(int), weft::access::read);
    touch(b, weft::access::readwrite);
    spend(b.cols * b.rows * b.rows / 2, swap_trsm_cycles_per_product);
    const int cols = length(b.cols), stride = length(b.stride), first = 1, last = length(b.rows), step = 1;
    dlaswp_(&cols, b.values, &stride, &first, &last, pivots, &step);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, length(b.rows), cols, 1,
                lu.values, length(lu.stride), b.values, stride);
}

// The lower triangle of C becomes that of C - A A^T.
inline void subtract_square(const tile& a, const tile& c) {
    blas_in_calling_thread();
    touch(a, weft::access::read);
    touch(c, weft::access::readwrite);
    spend(c.rows * c.rows * a.cols / 2, syrk_cycles_per_product);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, length(c.rows), length(a.cols), -1, a.values,
                length(a.stride), 1, c.values, length(c.stride));
}

// C - A B, or C - A B^T.
inline void subtract_product(const tile& a, const tile& b, const tile& c,
                             CBLAS_TRANSPOSE b_as = CblasNoTrans) {
    blas_in_calling_thread();
    touch(a, weft::access::read);
    touch(b, weft::access::read);
    touch(c, weft::access::readwrite);
    spend(c.rows * c.cols * a.cols, gemm_cycles_per_product);
    cblas_dgemm(CblasColMajor, CblasNoTrans, b_as, length(c.rows), length(c.cols), length(a.cols), -1,
                a.values, length(a.stride), b.values, length(b.stride), 1, c.values, length(c.stride));
}

} // namespace blas
} // namespace examples
