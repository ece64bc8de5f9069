// Red-black successive over-relaxation: Laplace's equation on a plate, in place.
//
// The points are coloured like a chess board. A point has neighbours of the other colour only, so all points
// of one colour can be renewed at once: a sweep renews the red ones, then the black ones. Each half of a
// sweep divides the rows as heat2d does (SOR and SOR-ir of Chen and Guo), and here too the strips are the
// same in every sweep and at the start.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"
#include "../common/grid.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace examples {

// A point that is renewed: six operations, none of them on two points at once, for its neighbours in memory
// are of the other colour. A point of the start.
inline constexpr double sor_cycles_per_point = 3, sor_start_cycles_per_point = 3;

// On the border and in the limit a point holds the product of its coordinates, which solves the equation.
inline double sor_solution(const grid& g, std::size_t i, std::size_t j) {
    return static_cast<double>(i) / static_cast<double>(g.rows() + 1) * static_cast<double>(j) /
           static_cast<double>(g.cols() + 1);
}

// The factor of over-relaxation with which the error shrinks fastest. (Young: Iterative methods for solving
// partial difference equations of elliptic type, 1954.)
inline double sor_factor(const grid& g) {
    double jacobi = (std::cos(std::numbers::pi / static_cast<double>(g.rows() + 1)) +
                     std::cos(std::numbers::pi / static_cast<double>(g.cols() + 1))) /
                    2;
    return 2 / (1 + std::sqrt(1 - jacobi * jacobi));
}

// The points of one colour, 0 or 1, in rows [first, last).
inline void sor_strip(grid& g, std::size_t first, std::size_t last, std::size_t colour, double factor) {
    for (std::size_t i = first; i < last; ++i) {
        const double* above = g.row(i - 1);
        const double* below = g.row(i + 1);
        double* here = g.row(i);
        for (std::size_t j = 1 + (i + colour) % 2; j <= g.cols(); j += 2) {
            double mean = 0.25 * ((above[j] + below[j]) + (here[j - 1] + here[j + 1]));
            here[j] += factor * (mean - here[j]);
        }
    }
}

// BEGIN-EXAMPLE sor
struct sor_rows {
    grid& plate;
    std::size_t colour;
    double factor;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t row_bytes = plate.stride() * sizeof(double);
        weft::touch(plate.row(first - 1), row_bytes, weft::access::read);
        weft::touch(plate.row(first), (last - first) * row_bytes, weft::access::readwrite);
        weft::touch(plate.row(last), row_bytes, weft::access::read);
        spend((last - first) * plate.cols() / 2, sor_cycles_per_point,
              [&] { sor_strip(plate, first, last, colour, factor); });
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return plate.hint(first, last, 1); }
};

inline void sor(grid& g, std::size_t sweeps, std::size_t leaf_rows, task_tree tree = task_tree::regular) {
    const double factor = sor_factor(g);
    for (std::size_t k = 0; k < sweeps; ++k) {
        weft::iteration(static_cast<int>(k));
        for (std::size_t colour : {0, 1}) {
            divide_rows(sor_rows{g, colour, factor}, 1, g.rows() + 1, leaf_rows, tree);
        }
    }
}
// END-EXAMPLE sor

// Writes the solution into the border and 0 inside.
struct sor_start_rows {
    grid& plate;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t begin = first == 1 ? 0 : first;
        const std::size_t end = last == plate.rows() + 1 ? last + 1 : last;
        weft::touch(plate.row(begin), (end - begin) * plate.stride() * sizeof(double), weft::access::write);
        spend((end - begin) * plate.stride(), sor_start_cycles_per_point, [&] { fill(begin, end); });
    }
    void fill(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t j = 0; j < plate.stride(); ++j) {
                const bool border = i == 0 || i == plate.rows() + 1 || j == 0 || j == plate.cols() + 1;
                plate.row(i)[j] = border ? sor_solution(plate, i, j) : 0;
            }
        }
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return plate.hint(first, last, 1); }
};

inline void sor_start(grid& g, std::size_t leaf_rows, task_tree tree = task_tree::regular) {
    divide_rows(sor_start_rows{g}, 1, g.rows() + 1, leaf_rows, tree);
}

inline void sor_serial(grid& g, std::size_t sweeps) {
    double factor = sor_factor(g);
    for (std::size_t k = 0; k < sweeps; ++k) {
        for (std::size_t colour : {0, 1}) sor_strip(g, 1, g.rows() + 1, colour, factor);
    }
}

// Largest distance from the solution.
inline double sor_error(const grid& g) {
    double worst = 0;
    for (std::size_t i = 1; i <= g.rows(); ++i) {
        for (std::size_t j = 1; j <= g.cols(); ++j) {
            worst = std::fmax(worst, std::fabs(g.row(i)[j] - sor_solution(g, i, j)));
        }
    }
    return worst;
}

// Four sweeps for each point of the longer side shrink the error to about k * exp(-8 pi), k sweeps.
inline bool sor_should_converge(const grid& g, std::size_t sweeps) {
    return sweeps >= 4 * (std::max(g.rows(), g.cols()) + 1);
}

} // namespace examples
