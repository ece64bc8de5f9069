// C += A * B, cache-oblivious: halve the largest of the three dimensions until the blocks are small.
// (Frigo, Leiserson, Prokop, Ramachandran: Cache-oblivious algorithms, FOCS 1999.)
//
// Halving the rows or the columns of C gives two independent products, which run in parallel. Halving the
// inner dimension gives two products that add to the same C: they run one after the other, so the order of
// every sum is fixed by the sizes alone and the result has the same bits whatever the schedule.
#pragma once

#include "../common/cost.hpp"
#include "../common/hint.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

struct matrix {
    matrix(std::size_t row_count, std::size_t col_count)
        : rows(row_count)
        , cols(col_count)
        , values(row_count * col_count) {}
    double* at(std::size_t i, std::size_t j) { return values.data() + i * cols + j; }
    const double* at(std::size_t i, std::size_t j) const { return values.data() + i * cols + j; }

    std::size_t rows, cols;
    std::vector<double> values;
};

// A product of two numbers and its addition to C, two at a time.
inline constexpr double matmul_cycles_per_product = 0.44;
// A random number, its remainder and its conversion.
inline constexpr double matmul_fill_cycles_per_entry = 6.2;

// Corners of three blocks and the sizes m x n += m x k * k x n.
struct product {
    const double* a;
    const double* b;
    double* c;
    std::size_t m, n, k;
    std::size_t a_stride, b_stride, c_stride;

    std::size_t work() const { return m * n * k; }
    std::size_t bytes() const { return (m * n + m * k + k * n) * sizeof(double); }
    void declare() const {
        touch_block(a, m, k, a_stride, weft::access::read);
        touch_block(b, k, n, b_stride, weft::access::read);
        touch_block(c, m, n, c_stride, weft::access::readwrite);
        spend(work(), matmul_cycles_per_product);
    }
};

// Four rows of B at a time, so that a row of C is loaded and stored once for four products.
inline void multiply_leaf(const product& p) {
    for (std::size_t i = 0; i < p.m; ++i) {
        const double* a = p.a + i * p.a_stride;
        double* __restrict c = p.c + i * p.c_stride;
        std::size_t l = 0;
        for (; l + 4 <= p.k; l += 4) {
            const double* __restrict b0 = p.b + l * p.b_stride;
            const double* __restrict b1 = b0 + p.b_stride;
            const double* __restrict b2 = b1 + p.b_stride;
            const double* __restrict b3 = b2 + p.b_stride;
            double a0 = a[l], a1 = a[l + 1], a2 = a[l + 2], a3 = a[l + 3];
            for (std::size_t j = 0; j < p.n; ++j) {
                c[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
            }
        }
        for (; l < p.k; ++l) {
            const double* __restrict b0 = p.b + l * p.b_stride;
            for (std::size_t j = 0; j < p.n; ++j) c[j] += a[l] * b0[j];
        }
    }
}

// BEGIN-EXAMPLE matmul
inline void multiply(const product& p, std::size_t leaf) {
    if (p.m <= leaf && p.n <= leaf && p.k <= leaf) {
        p.declare();
        return multiply_leaf(p);
    }

    product x = p, y = p;
    if (p.k > p.m && p.k > p.n) {
        x.k = p.k / 2;
        y.k = p.k - x.k;
        y.a += x.k;
        y.b += x.k * p.b_stride;
        multiply(x, leaf);
        multiply(y, leaf);
        return;
    }
    if (p.m >= p.n) {
        x.m = p.m / 2;
        y.m = p.m - x.m;
        y.a += x.m * p.a_stride;
        y.c += x.m * p.c_stride;
    } else {
        x.n = p.n / 2;
        y.n = p.n - x.n;
        y.b += x.n;
        y.c += x.n;
    }
    weft::task_group halves(hint(p.work(), p.bytes()));
    halves.run([&x, leaf] { multiply(x, leaf); }, hint(x.work(), x.bytes()));
    halves.run([&y, leaf] { multiply(y, leaf); }, hint(y.work(), y.bytes()));
    halves.wait();
}
// END-EXAMPLE matmul

// All three dimensions at once: four products into the quarters of C, and after them four others into the
// same quarters. (S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's
// thesis, University of Tokyo 2021, figure 4.5.) What a half has too much goes to the second one, as in
// multiply(); a dimension that is as small as a leaf is not divided.
inline void multiply_by_quarters(const product& p, std::size_t leaf) {
    if (p.m <= leaf && p.n <= leaf && p.k <= leaf) {
        p.declare();
        return multiply_leaf(p);
    }
    struct range {
        std::size_t begin, size;
    };
    auto half = [leaf](std::size_t size, std::size_t which) -> range {
        if (size <= leaf) return {0, which == 0 ? size : 0};
        return which == 0 ? range{0, size / 2} : range{size / 2, size - size / 2};
    };
    for (std::size_t step = 0; step < 2; ++step) {
        const range k = half(p.k, step);
        if (k.size == 0) continue;
        // A half of A and a half of B, but all of C.
        product of_step = p;
        of_step.k = k.size;
        weft::task_group quarters(hint(of_step.work(), of_step.bytes()));
        for (std::size_t quarter = 0; quarter < 4; ++quarter) {
            // Column by column, so that two neighbours share a quarter of B.
            const range m = half(p.m, quarter % 2), n = half(p.n, quarter / 2);
            if (m.size == 0 || n.size == 0) continue;
            product q = p;
            q.m = m.size;
            q.n = n.size;
            q.k = k.size;
            q.a += m.begin * p.a_stride + k.begin;
            q.b += k.begin * p.b_stride + n.begin;
            q.c += m.begin * p.c_stride + n.begin;
            quarters.run([q, leaf] { multiply_by_quarters(q, leaf); }, hint(q.work(), q.bytes()));
        }
        quarters.wait();
    }
}

enum class matmul_division { halves, quarters };

// c += a * b
inline void multiply(const matrix& a, const matrix& b, matrix& c, std::size_t leaf = 64,
                     matmul_division division = matmul_division::halves) {
    const product p{a.at(0, 0), b.at(0, 0), c.at(0, 0), a.rows, b.cols, a.cols, a.cols, b.cols, c.cols};
    division == matmul_division::halves ? multiply(p, leaf) : multiply_by_quarters(p, leaf);
}

// The same as a loop over rows of blocks of c: loop(n, f) calls f(first, last) for parts of [0, n).
template <class Loop>
void multiply_by_rows(const matrix& a, const matrix& b, matrix& c, std::size_t side, const Loop& loop) {
    loop((a.rows + side - 1) / side, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first * side; i < std::min(last * side, a.rows); i += side)
            for (std::size_t j = 0; j < b.cols; j += side)
                for (std::size_t k = 0; k < a.cols; k += side) {
                    const product p{a.at(i, k),
                                    b.at(k, j),
                                    c.at(i, j),
                                    std::min(side, a.rows - i),
                                    std::min(side, b.cols - j),
                                    std::min(side, a.cols - k),
                                    a.cols,
                                    b.cols,
                                    c.cols};
                    p.declare();
                    if (kernels_compute) multiply_leaf(p);
                }
    });
}

// Whole numbers from -8 to 8: all sums of a product are then exact, and checks need no tolerance.
inline void fill(matrix& x, std::uint64_t seed) {
    weft::touch(x.values.data(), x.values.size() * sizeof(double), weft::access::write);
    spend(x.values.size(), matmul_fill_cycles_per_entry);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
        x.values[i] = static_cast<double>(random_at(seed, i) % 17) - 8;
    }
}

inline std::vector<double> times(const matrix& a, const std::vector<double>& x) {
    std::vector<double> y(a.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
        for (std::size_t j = 0; j < a.cols; ++j) y[i] += *a.at(i, j) * x[j];
    }
    return y;
}

// Freivalds' check, A(Bx) = Cx for random x. With entries as fill() makes them and x below 2^20 it is exact
// up to a size of 2^13, and a wrong C passes one round with a probability of at most 2^-20.
inline bool freivalds(const matrix& a, const matrix& b, const matrix& c, std::uint64_t seed, int rounds = 3) {
    for (int round = 0; round < rounds; ++round) {
        std::vector<double> x(b.cols);
        for (std::size_t i = 0; i < x.size(); ++i) {
            x[i] = static_cast<double>(random_at(seed + static_cast<std::uint64_t>(round), i) >> 44);
        }
        if (times(a, times(b, x)) != times(c, x)) return false;
    }
    return true;
}

inline matrix multiply_serial(const matrix& a, const matrix& b) {
    matrix c(a.rows, b.cols);
    for (std::size_t i = 0; i < a.rows; ++i) {
        for (std::size_t l = 0; l < a.cols; ++l) {
            for (std::size_t j = 0; j < b.cols; ++j) *c.at(i, j) += *a.at(i, l) * *b.at(l, j);
        }
    }
    return c;
}

} // namespace examples
