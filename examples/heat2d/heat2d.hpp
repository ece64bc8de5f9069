// Heat on a plate: 5-point Jacobi sweeps over two copies of a grid whose border is held at 0.
//
// Every sweep divides the rows until a strip is small: Heat and Heat-ir of Chen and Guo
// (common/division.hpp). The strips are the same in every sweep, and the initial values are written by the
// same recursion, so a scheduler that sends a strip where it ran before finds its rows in that core's cache,
// or in that socket's memory.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"
#include "../common/grid.hpp"

#include <weft/weft.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace examples {

// A sweep: three additions, a product and the loads, two points at a time. The start: two sines.
inline constexpr double heat_cycles_per_point = 1.3, heat_start_cycles_per_point = 62;

// One wave of p half-periods down and q half-periods across. A sweep multiplies it by a constant.
struct heat_mode {
    std::size_t p = 1, q = 1;

    template <class Value>
    double value(const basic_grid<Value>& g, std::size_t i, std::size_t j) const {
        return std::sin(angle(p, g.rows()) * static_cast<double>(i)) *
               std::sin(angle(q, g.cols()) * static_cast<double>(j));
    }
    template <class Value>
    double factor(const basic_grid<Value>& g) const {
        return (std::cos(angle(p, g.rows())) + std::cos(angle(q, g.cols()))) / 2;
    }

private:
    static double angle(std::size_t half_periods, std::size_t points) {
        return std::numbers::pi * static_cast<double>(half_periods) / static_cast<double>(points + 1);
    }
};

// Rows [first, last) of `next` from `now`: each point becomes the mean of its four neighbours.
inline void heat_strip(const grid& now, grid& next, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        const double* above = now.row(i - 1);
        const double* here = now.row(i);
        const double* below = now.row(i + 1);
        double* out = next.row(i);
        for (std::size_t j = 1; j <= now.cols(); ++j) {
            out[j] = 0.25 * ((above[j] + below[j]) + (here[j - 1] + here[j + 1]));
        }
    }
}

// BEGIN-EXAMPLE heat2d
struct heat_rows {
    const grid& now;
    grid& next;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t row_bytes = now.stride() * sizeof(double);
        weft::touch(now.row(first - 1), (last - first + 2) * row_bytes, weft::access::read);
        weft::touch(next.row(first), (last - first) * row_bytes, weft::access::write);
        spend((last - first) * now.cols(), heat_cycles_per_point, weft::work::vector,
              [&] { heat_strip(now, next, first, last); });
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return next.hint(first, last, 2); }
};

inline void heat_sweep(const grid& now, grid& next, std::size_t first, std::size_t last,
                       std::size_t leaf_rows, task_tree tree = task_tree::regular) {
    divide_rows(heat_rows{now, next}, first, last, leaf_rows, tree);
}
// END-EXAMPLE heat2d

// Writes the mode into `now` and 0 into `next` and both borders.
struct heat_start_rows {
    grid& now;
    grid& next;
    const heat_mode& mode;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t begin = first == 1 ? 0 : first;
        const std::size_t end = last == now.rows() + 1 ? last + 1 : last;
        for (grid* g : {&now, &next}) {
            weft::touch(g->row(begin), (end - begin) * g->stride() * sizeof(double), weft::access::write);
        }
        spend((end - begin) * now.stride(), heat_start_cycles_per_point, [&] { fill(begin, end); });
    }
    void fill(std::size_t begin, std::size_t end) const {
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t j = 0; j < now.stride(); ++j) {
                const bool border = i == 0 || i == now.rows() + 1 || j == 0 || j == now.cols() + 1;
                now.row(i)[j] = border ? 0 : mode.value(now, i, j);
                next.row(i)[j] = 0;
            }
        }
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return now.hint(first, last, 2); }
};

inline void heat_start(grid& now, grid& next, const heat_mode& mode, std::size_t first, std::size_t last,
                       std::size_t leaf_rows, task_tree tree = task_tree::regular) {
    divide_rows(heat_start_rows{now, next, mode}, first, last, leaf_rows, tree);
}

inline void heat_start(grid& now, grid& next, const heat_mode& mode, std::size_t leaf_rows,
                       task_tree tree = task_tree::regular) {
    heat_start(now, next, mode, 1, now.rows() + 1, leaf_rows, tree);
}

// After an even number of sweeps the result is in `a`, after an odd number in `b`.
inline void heat(grid& a, grid& b, std::size_t sweeps, std::size_t leaf_rows,
                 task_tree tree = task_tree::regular) {
    for (std::size_t k = 0; k < sweeps; ++k) {
        weft::iteration(static_cast<int>(k));
        if (k % 2 == 0) {
            heat_sweep(a, b, 1, a.rows() + 1, leaf_rows, tree);
        } else {
            heat_sweep(b, a, 1, a.rows() + 1, leaf_rows, tree);
        }
    }
}

inline void heat_serial(grid& a, grid& b, std::size_t sweeps) {
    for (std::size_t k = 0; k < sweeps; ++k) {
        if (k % 2 == 0) {
            heat_strip(a, b, 1, a.rows() + 1);
        } else {
            heat_strip(b, a, 1, a.rows() + 1);
        }
    }
}

// Largest distance from the exact solution: the mode times its factor, once for every sweep.
template <class Value>
double heat_error(const basic_grid<Value>& g, const heat_mode& mode, std::size_t sweeps) {
    double decay = std::pow(mode.factor(g), static_cast<double>(sweeps));
    double worst = 0;
    for (std::size_t i = 1; i <= g.rows(); ++i) {
        for (std::size_t j = 1; j <= g.cols(); ++j) {
            worst =
                std::fmax(worst, std::fabs(static_cast<double>(g.row(i)[j]) - decay * mode.value(g, i, j)));
        }
    }
    return worst;
}

} // namespace examples
