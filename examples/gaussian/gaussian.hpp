// Gaussian elimination of a dense system of equations, without exchanges of rows: GE and GE-ir of Chen and
// Guo (common/division.hpp).
//
// For each pivot the rows below it are renewed, all at once. The tree of tasks is over all rows, the same one
// for every pivot, so that a row belongs to the same task throughout: where nothing is left to do a leaf
// does nothing. That is how a scheduler knows a task again that it has seen for the pivot before.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"
#include "../common/random.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace examples {

// A product of two numbers and its subtraction, two at a
// time; a random entry and its share of the right side.
inline constexpr double gaussian_cycles_per_product = 0.8, gaussian_start_cycles_per_entry = 8.2;

// n rows of n entries with the right side after them. The values are not initialised, so that a page belongs
// to the worker that first writes it.
class equations {
public:
    explicit equations(std::size_t n)
        : n_(n)
        , values_(std::make_unique_for_overwrite<double[]>(n * (n + 1))) {}

    std::size_t size() const { return n_; }
    std::size_t stride() const { return n_ + 1; }
    double* row(std::size_t i) { return values_.get() + i * stride(); }
    const double* row(std::size_t i) const { return values_.get() + i * stride(); }

    // Of a task that works on rows [first, last), of them on `rows` rows from column `from` on.
    weft::hints hint(std::size_t first, std::size_t last, std::size_t rows, std::size_t from) const {
        const std::size_t numbers = rows * (stride() - from);
        return {.work = static_cast<double>(numbers + 1), // a task without work still looks for some
                .bytes = numbers * sizeof(double),
                .data_begin = row(first),
                .data_end = row(last)};
    }

private:
    std::size_t n_;
    std::unique_ptr<double[]> values_;
};

inline double gaussian_solution(std::size_t i) { return static_cast<double>(i % 7) - 3; }

// Random entries from -1 to 1 and n more on the diagonal: so no pivot is small, and rows need not be
// exchanged.
struct gaussian_start_rows {
    equations& system;
    std::uint64_t seed;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t n = system.size();
        weft::touch(system.row(first), (last - first) * system.stride() * sizeof(double),
                    weft::access::write);
        spend((last - first) * n, gaussian_start_cycles_per_entry, [&] { fill(first, last); });
    }
    void fill(std::size_t first, std::size_t last) const {
        const std::size_t n = system.size();
        for (std::size_t i = first; i < last; ++i) {
            double* row = system.row(i);
            double right = 0;
            for (std::size_t j = 0; j < n; ++j) {
                row[j] = random_from_minus_1_to_1(seed, i * n + j);
                if (i == j) row[j] += static_cast<double>(n);
                right += row[j] * gaussian_solution(j);
            }
            row[n] = right;
        }
    }
    weft::hints hint(std::size_t first, std::size_t last) const {
        return system.hint(first, last, last - first, 0);
    }
};

inline void gaussian_start(equations& system, std::uint64_t seed, std::size_t leaf_rows,
                           task_tree tree = task_tree::regular) {
    divide_rows(gaussian_start_rows{system, seed}, 0, system.size(), leaf_rows, tree);
}

// Rows [first, last), all below row `pivot`.
inline void eliminate(equations& system, std::size_t pivot, std::size_t first, std::size_t last) {
    const double* __restrict above = system.row(pivot);
    for (std::size_t i = first; i < last; ++i) {
        double* __restrict row = system.row(i);
        const double factor = row[pivot] / above[pivot];
        row[pivot] = 0;
        for (std::size_t j = pivot + 1; j < system.stride(); ++j) row[j] -= factor * above[j];
    }
}

// BEGIN-EXAMPLE gaussian
struct gaussian_rows {
    equations& system;
    std::size_t pivot;

    void leaf(std::size_t first, std::size_t last) const {
        first = std::max(first, pivot + 1);
        if (first >= last) return;
        const std::size_t numbers = system.stride() - pivot;
        weft::touch(system.row(pivot) + pivot, numbers * sizeof(double), weft::access::read);
        touch_block(system.row(first) + pivot, last - first, numbers, system.stride(),
                    weft::access::readwrite);
        spend((last - first) * numbers, gaussian_cycles_per_product, weft::work::vector,
              [&] { eliminate(system, pivot, first, last); });
    }
    weft::hints hint(std::size_t first, std::size_t last) const {
        const std::size_t begin = std::max(first, pivot + 1);
        return system.hint(first, last, last > begin ? last - begin : 0, pivot);
    }
};

inline void gaussian(equations& system, std::size_t pivots, std::size_t leaf_rows,
                     task_tree tree = task_tree::regular) {
    for (std::size_t k = 0; k < pivots; ++k) {
        weft::iteration(static_cast<int>(k));
        divide_rows(gaussian_rows{system, k}, 0, system.size(), leaf_rows, tree);
    }
}
// END-EXAMPLE gaussian

inline void gaussian_serial(equations& system, std::size_t pivots) {
    for (std::size_t k = 0; k < pivots; ++k) eliminate(system, k, k + 1, system.size());
}

inline bool same_values(const equations& x, const equations& y) {
    return std::equal(x.row(0), x.row(x.size()), y.row(0));
}

// Largest distance from the solution, after all pivots.
inline double gaussian_error(const equations& system) {
    const std::size_t n = system.size();
    std::vector<double> x(n);
    double worst = 0;
    for (std::size_t i = n; i-- > 0;) {
        const double* row = system.row(i);
        double right = row[n];
        for (std::size_t j = i + 1; j < n; ++j) right -= row[j] * x[j];
        x[i] = right / row[i];
        worst = std::fmax(worst, std::fabs(x[i] - gaussian_solution(i)));
    }
    return worst;
}

} // namespace examples
