// The steps of a factorisation by tiles, each by a team of threads, as in a parallel BLAS: the rows are shared out, and
// the threads wait for each other where one needs what another has computed.
//
// `Kernels` computes a part of a step in the calling thread. A row is computed by one thread in the same order whatever
// the size of the team is, so with plain_kernels the factor has the same bits.
#pragma once

#include "../common/team.hpp"
#include "../common/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace examples {

// Loops that every compiler understands, with vectors along the columns.
struct plain_kernels {
    // C - A B^T
    static void subtract_product(const tile& a, const tile& b, const tile& c) {
        for (std::size_t j = 0; j < c.cols; ++j)
            for (std::size_t k = 0; k < a.cols; ++k) {
                const double factor = b.at(j, k);
                const double* const from = &a.at(0, k);
                double* const to = &c.at(0, j);
                for (std::size_t i = 0; i < c.rows; ++i) to[i] -= from[i] * factor;
            }
    }
    // The lower triangle of C - A A^T.
    static void subtract_square(const tile& a, const tile& c) {
        for (std::size_t j = 0; j < c.cols; ++j)
            for (std::size_t k = 0; k < a.cols; ++k) {
                const double factor = a.at(j, k);
                for (std::size_t i = j; i < c.rows; ++i) c.at(i, j) -= a.at(i, k) * factor;
            }
    }
    // B L^-T
    static void solve_transposed(const tile& l, const tile& b) {
        for (std::size_t j = 0; j < b.cols; ++j) {
            double* const to = &b.at(0, j);
            for (std::size_t k = 0; k < j; ++k) {
                const double factor = l.at(j, k);
                const double* const from = &b.at(0, k);
                for (std::size_t i = 0; i < b.rows; ++i) to[i] -= from[i] * factor;
            }
            const double diagonal = 1 / l.at(j, j);
            for (std::size_t i = 0; i < b.rows; ++i) to[i] *= diagonal;
        }
    }
    static void potrf(const tile& a) {
        for (std::size_t j = 0; j < a.cols; ++j) {
            for (std::size_t k = 0; k < j; ++k)
                for (std::size_t i = j; i < a.rows; ++i) a.at(i, j) -= a.at(i, k) * a.at(j, k);
            if (!(a.at(j, j) > 0))
                throw std::runtime_error("potrf: no positive definite matrix, " + std::to_string(j));
            a.at(j, j) = std::sqrt(a.at(j, j));
            for (std::size_t i = j + 1; i < a.rows; ++i) a.at(i, j) /= a.at(j, j);
        }
    }
};

inline tile rows_of(const tile& t, std::size_t first, std::size_t last) {
    return {t.values + first, last - first, t.cols, t.stride};
}
inline tile part_of(const tile& t, std::size_t row, std::size_t rows, std::size_t col, std::size_t cols) {
    return {t.values + col * t.stride + row, rows, cols, t.stride};
}

template <class Kernels>
struct team_kernels {
    // Columns that one member factors before the others go on.
    static constexpr std::size_t panel = 16;

    static void subtract_product(const team_member& me, const tile& a, const tile& b, const tile& c) {
        const auto [first, last] = me.share(c.rows);
        if (first < last) Kernels::subtract_product(rows_of(a, first, last), b, rows_of(c, first, last));
        me.meet();
    }
    static void solve_transposed(const team_member& me, const tile& l, const tile& b) {
        const auto [first, last] = me.share(b.rows);
        if (first < last) Kernels::solve_transposed(l, rows_of(b, first, last));
        me.meet();
    }
    static void subtract_square(const team_member& me, const tile& a, const tile& c) {
        lower_product(me, a, c);
        me.meet();
    }
    static void potrf(const team_member& me, const tile& a) {
        for (std::size_t k = 0; k < a.rows; k += panel) {
            const std::size_t width = std::min(panel, a.rows - k), next = k + width, below = a.rows - next;
            const tile diagonal = part_of(a, k, width, k, width), under = part_of(a, next, below, k, width);
            if (me.rank == 0) Kernels::potrf(diagonal);
            me.meet();
            solve_transposed(me, diagonal, under);
            lower_product(me, under, part_of(a, next, below, next, below));
            me.meet();
        }
    }

private:
    // The lower triangle of C - A A^T, without waiting for the others.
    static void lower_product(const team_member& me, const tile& a, const tile& c) {
        const auto [first, last] = me.share(c.rows);
        if (first == last) return;
        const tile mine = rows_of(a, first, last);
        if (first > 0)
            Kernels::subtract_product(mine, rows_of(a, 0, first), part_of(c, first, last - first, 0, first));
        Kernels::subtract_square(mine, part_of(c, first, last - first, first, last - first));
    }
};

} // namespace examples
