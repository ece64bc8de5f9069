// Cholesky factorisation A = L L^T of a dense, symmetric, positive definite matrix, by divide and conquer.
//
//   | A11      |   | L11     |   | L11^T L21^T |     1. L11 from A11          3. A22 -= L21 L21^T
//   | A21  A22 | = | L21 L22 | * |       L22^T |     2. L21 L11^T = A21       4. L22 from A22
//
// The four steps depend on each other; the second and the third have parts that do not. Of those that add to
// the same block one runs after the other, so the order of every sum is fixed by the sizes alone and the
// result has the same bits whatever the schedule.
#pragma once

#include "../common/cost.hpp"
#include "../common/residual.hpp"

#include <weft/weft.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

inline constexpr std::size_t cholesky_leaf = 64;

// A product of two numbers and its subtraction, two at a time: in a square block, in the shorter columns of a
// triangle, and in those of a triangle that becomes its factor, with its roots.
inline constexpr double square_cycles_per_product = 0.4, triangle_cycles_per_product = 0.52,
                        factor_cycles_per_product = 0.63;

// The lower triangle of a square matrix, by columns; what is above the diagonal is neither read nor written.
// The stride is an odd number of cache lines, so that the entries of a row do not all fall into the same few
// sets.
class lower_triangle {
public:
    explicit lower_triangle(std::size_t n)
        : n_(n)
        , stride_(((n + 7) / 8 | 1) * 8)
        , values_(std::make_unique_for_overwrite<double[]>(stride_ * n)) {}

    std::size_t size() const { return n_; }
    std::size_t stride() const { return stride_; }
    double* at(std::size_t i, std::size_t j) { return values_.get() + j * stride_ + i; }
    const double* at(std::size_t i, std::size_t j) const { return values_.get() + j * stride_ + i; }

private:
    std::size_t n_, stride_;
    std::unique_ptr<double[]> values_;
};

// The steps on blocks of one matrix, each given by its upper left corner. A method takes the blocks that it
// reads, the one that it changes, and the sizes of that one.
class cholesky_steps {
public:
    cholesky_steps(std::size_t stride, std::size_t leaf) : stride_(stride), leaf_(leaf) {}

    // BEGIN-EXAMPLE cholesky
    // The n x n triangle `a` becomes its factor.
    void factor(double* a, std::size_t n) const {
        if (n <= leaf_) return factor_leaf(a, n);
        std::size_t h = half(n);
        double* a21 = a + h;
        double* a22 = a + h * stride_ + h;
        factor(a, h);
        solve(a, a21, n - h, h);
        subtract_square(a21, a22, n - h, h);
        factor(a22, n - h);
    }

    // The m x n block `b` becomes X with X L^T = B. Its rows do not depend on each other.
    void solve(const double* l, double* b, std::size_t m, std::size_t n) const {
        if (m <= leaf_ && n <= leaf_) return solve_leaf(l, b, m, n);
        if (m >= n) {
            std::size_t h = half(m);
            weft::join([&] { solve(l, b, h, n); }, [&] { solve(l, b + h, m - h, n); });
            return;
        }
        std::size_t h = half(n);
        double* right = b + h * stride_;
        solve(l, b, m, h);
        subtract(b, l + h, right, m, n - h, h);
        solve(l + h * stride_ + h, right, m, n - h);
    }
    // END-EXAMPLE cholesky

    // C -= A A^T: C is an n x n triangle, A is n x k.
    void subtract_square(const double* a, double* c, std::size_t n, std::size_t k) const {
        if (n <= leaf_ && k <= leaf_) return subtract_square_leaf(a, c, n, k);
        if (k > n) {
            std::size_t h = half(k);
            subtract_square(a, c, n, h);
            subtract_square(a + h * stride_, c, n, k - h);
            return;
        }
        std::size_t h = half(n);
        weft::parallel_invoke([&] { subtract_square(a, c, h, k); },
                              [&] { subtract(a + h, a, c + h, n - h, h, k); },
                              [&] { subtract_square(a + h, c + h * stride_ + h, n - h, k); });
    }

    // C -= A B^T: C is m x n, A is m x k, B is n x k.
    void subtract(const double* a, const double* b, double* c, std::size_t m, std::size_t n,
                  std::size_t k) const {
        if (m <= leaf_ && n <= leaf_ && k <= leaf_) return subtract_leaf(a, b, c, m, n, k);
        if (k > m && k > n) {
            std::size_t h = half(k);
            subtract(a, b, c, m, n, h);
            subtract(a + h * stride_, b + h * stride_, c, m, n, k - h);
        } else if (m >= n) {
            std::size_t h = half(m);
            weft::join([&] { subtract(a, b, c, h, n, k); }, [&] { subtract(a + h, b, c + h, m - h, n, k); });
        } else {
            std::size_t h = half(n);
            weft::join([&] { subtract(a, b, c, m, h, k); },
                       [&] { subtract(a, b + h, c + h * stride_, m, n - h, k); });
        }
    }

    void factor_leaf(double* a, std::size_t n) const {
        touch_triangle(a, n, weft::access::readwrite);
        spend(n * n * n / 6, factor_cycles_per_product);
        for (std::size_t j = 0; j < n; ++j) {
            double* column = a + j * stride_ + j;
            subtract_columns(a + j, a + j, column, n - j, j);
            double root = std::sqrt(*column);
            for (std::size_t i = 0; i < n - j; ++i) column[i] /= root;
        }
    }

    void solve_leaf(const double* l, double* b, std::size_t m, std::size_t n) const {
        touch_triangle(l, n, weft::access::read);
        touch_block(b, n, m, stride_, weft::access::readwrite);
        spend(m * n * n / 2, triangle_cycles_per_product);
        for (std::size_t j = 0; j < n; ++j) {
            double* column = b + j * stride_;
            subtract_columns(b, l + j, column, m, j);
            double diagonal = l[j * stride_ + j];
            for (std::size_t i = 0; i < m; ++i) column[i] /= diagonal;
        }
    }

    void subtract_square_leaf(const double* a, double* c, std::size_t n, std::size_t k) const {
        touch_block(a, k, n, stride_, weft::access::read);
        touch_triangle(c, n, weft::access::readwrite);
        spend(n * n * k / 2, triangle_cycles_per_product);
        for (std::size_t j = 0; j < n; ++j) subtract_columns(a + j, a + j, c + j * stride_ + j, n - j, k);
    }

    void subtract_leaf(const double* a, const double* b, double* c, std::size_t m, std::size_t n,
                       std::size_t k) const {
        touch_block(a, k, m, stride_, weft::access::read);
        touch_block(b, k, n, stride_, weft::access::read);
        touch_block(c, n, m, stride_, weft::access::readwrite);
        spend(m * n * k, square_cycles_per_product);
        for (std::size_t j = 0; j < n; ++j) subtract_columns(a, b + j, c + j * stride_, m, k);
    }

private:
    // About half of n, in whole leaves. Only for n > leaf.
    std::size_t half(std::size_t n) const { return (n + leaf_ - 1) / leaf_ / 2 * leaf_; }

    // Subtracts from the column `to` of m entries k columns that begin at `from`, each times its entry of the
    // row that begins at `factors`. Four at a time, so that the column is loaded and stored once for four.
    void subtract_columns(const double* from, const double* factors, double* __restrict to, std::size_t m,
                          std::size_t k) const {
        std::size_t l = 0;
        for (; l + 4 <= k; l += 4) {
            const double* __restrict a0 = from + l * stride_;
            const double* __restrict a1 = a0 + stride_;
            const double* __restrict a2 = a1 + stride_;
            const double* __restrict a3 = a2 + stride_;
            const double* f = factors + l * stride_;
            double f0 = f[0], f1 = f[stride_], f2 = f[2 * stride_], f3 = f[3 * stride_];
            for (std::size_t i = 0; i < m; ++i) {
                to[i] -= (f0 * a0[i] + f1 * a1[i]) + (f2 * a2[i] + f3 * a3[i]);
            }
        }
        for (; l < k; ++l) {
            const double* __restrict a0 = from + l * stride_;
            double f0 = factors[l * stride_];
            for (std::size_t i = 0; i < m; ++i) to[i] -= f0 * a0[i];
        }
    }

    void touch_triangle(const double* corner, std::size_t n, weft::access how) const {
        for (std::size_t j = 0; j < n; ++j) {
            weft::touch(corner + j * stride_ + j, (n - j) * sizeof(double), how);
        }
    }

    std::size_t stride_, leaf_;
};

inline void cholesky(lower_triangle& a, std::size_t leaf = cholesky_leaf) {
    cholesky_steps(a.stride(), leaf).factor(a.at(0, 0), a.size());
}

inline void spd_fill(lower_triangle& a, std::uint64_t seed) {
    auto column = [&](std::size_t j) {
        std::size_t n = a.size();
        weft::touch(a.at(j, j), (n - j) * sizeof(double), weft::access::write);
        spend(n - j, spd_cycles_per_entry);
        for (std::size_t i = j; i < n; ++i) *a.at(i, j) = spd_entry(n, seed, i, j);
    };
    weft::parallel_for(std::size_t{0}, a.size(), column, {.grain = 8});
}

// ||A - L L^T|| / ||A||
inline double cholesky_residual(const lower_triangle& l, std::uint64_t seed) {
    const std::size_t n = l.size();
    auto product = [&](const std::vector<double>& x) {
        std::vector<double> transposed(n), result(n); // L^T x, and L (L^T x)
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = j; i < n; ++i) transposed[j] += *l.at(i, j) * x[i];
        }
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t i = j; i < n; ++i) result[i] += *l.at(i, j) * transposed[j];
        }
        return result;
    };
    return relative_residual(
        n, seed, [&](std::size_t i, std::size_t j) { return spd_entry(n, seed, i, j); }, product);
}

} // namespace examples
