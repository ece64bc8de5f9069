// Heat on a plate of single precision that is divided into four squares, each of these again into four, and
// so on: heat2D of
//
//   S. Shiina: Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's thesis,
//   University of Tokyo 2021, sections 4.4.1 and 4.4.4.
//
// The same plate by a loop over its rows is what its static and dynamic loops of OpenMP are.
#pragma once

#include "../common/cost.hpp"
#include "../common/grid.hpp"
#include "../common/random.hpp"
#include "../common/vectors.hpp"
#include "heat2d.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace examples {

using plate = basic_grid<float>;

// Three additions, a product and the loads, eight points at a time: three fifths of what four at a time cost.
inline constexpr double square_cycles_per_point = 0.38;

// Inner points, counted from 1.
struct square {
    std::size_t row, col, rows, cols;
};

// How far the hints of work are from the truth, which is 1 : 1 : 1 : 1 for the quarters of a square.
struct hint_errors {
    double size = 0;     // 0: none. 1: up to nothing, or the double
    bool random = false; // drawn anew in each iteration; else 1 - size : 1 - size/2 : 1 + size/2 : 1 + size
    std::uint64_t seed = 1;

    double factor(std::size_t quarter, const square& s, std::size_t iteration) const {
        constexpr double steps[] = {-1, -0.5, 0.5, 1};
        const double step =
            random ? random_from_minus_1_to_1(mix(seed + iteration) + s.rows, (s.row << 32) + s.col)
                   : steps[quarter];
        return std::max(1 + size * step, 1e-6); // 0 would mean that nothing is known
    }
};

struct squares_settings {
    std::size_t leaf_side = 64;
    hint_errors errors{};
    bool loops = false; // over the rows, instead of squares
};

// Block has leaf(square), which does a square, and plates(), how many plates it goes over.
template <class Block>
class square_division {
public:
    square_division(const Block& block, const squares_settings& settings, std::size_t iteration)
        : block_(block)
        , settings_(settings)
        , iteration_(iteration) {}

    // BEGIN-EXAMPLE squares
    void by_quarters(const square& s) const {
        const bool high = s.rows > settings_.leaf_side, wide = s.cols > settings_.leaf_side;
        if (!high && !wide) return block_.leaf(s);
        const std::size_t height = high ? s.rows / 2 : s.rows, width = wide ? s.cols / 2 : s.cols;
        square part[4];
        weft::hints hint[4];
        double work = 0;
        int parts = 0;
        for (std::size_t quarter = 0; quarter < 4; ++quarter) {
            const bool below = quarter / 2 == 1, right = quarter % 2 == 1;
            if ((below && !high) || (right && !wide)) continue;
            const square q{s.row + (below ? height : 0), s.col + (right ? width : 0),
                           below ? s.rows - height : height, right ? s.cols - width : width};
            part[parts] = q;
            hint[parts] = hint_of(q, settings_.errors.factor(quarter, q, iteration_));
            work += hint[parts++].work;
        }
        weft::hints all = hint_of(s, 1);
        all.work = work;
        weft::task_group group(all);
        for (int i = 0; i < parts; ++i) {
            group.run([this, q = part[i]] { by_quarters(q); }, hint[i]);
        }
        group.wait();
    }
    // END-EXAMPLE squares

    void by_rows(const square& s) const {
        weft::parallel_for_range(
            s.row, s.row + s.rows,
            [&](std::size_t first, std::size_t last) { block_.leaf({first, s.col, last - first, s.cols}); },
            {.work = static_cast<double>(s.rows), .bytes = hint_of(s, 1).bytes});
    }

    void all(const square& s) const { settings_.loops ? by_rows(s) : by_quarters(s); }

private:
    weft::hints hint_of(const square& s, double factor) const {
        const bool leaf = s.rows <= settings_.leaf_side && s.cols <= settings_.leaf_side;
        return {.work = factor * static_cast<double>(s.rows * s.cols),
                .bytes = block_.plates() * s.rows * s.cols * sizeof(float),
                .children = leaf ? 0 : 4};
    }

    const Block& block_;
    const squares_settings& settings_;
    std::size_t iteration_;
};

inline void heat_square(const plate& now, plate& next, const square& s) {
    with_wide_vectors([&]() __attribute__((always_inline)) {
        for (std::size_t i = s.row; i < s.row + s.rows; ++i) {
            const float* above = now.row(i - 1);
            const float* here = now.row(i);
            const float* below = now.row(i + 1);
            float* out = next.row(i);
            for (std::size_t j = s.col; j < s.col + s.cols; ++j) {
                out[j] = 0.25F * ((above[j] + below[j]) + (here[j - 1] + here[j + 1]));
            }
        }
    });
}

struct heat_square_of {
    const plate& now;
    plate& next;

    void leaf(const square& s) const {
        touch_block(now.row(s.row - 1) + s.col - 1, s.rows + 2, s.cols + 2, now.stride(), weft::access::read);
        touch_block(next.row(s.row) + s.col, s.rows, s.cols, next.stride(), weft::access::write);
        spend(s.rows * s.cols, square_cycles_per_point, weft::work::vector,
              [&] { heat_square(now, next, s); });
    }
    static std::size_t plates() { return 2; }
};

// Writes the mode into `now` and 0 into `next` and both borders. The border goes with the square beside it.
struct heat_start_square {
    plate& now;
    plate& next;
    const heat_mode& mode;

    void leaf(const square& s) const {
        const bool top = s.row == 1, left = s.col == 1;
        const std::size_t first = top ? 0 : s.row, begin = left ? 0 : s.col;
        const std::size_t last = s.row + s.rows + (s.row + s.rows == now.rows() + 1);
        const std::size_t end = s.col + s.cols + (s.col + s.cols == now.cols() + 1);
        for (plate* p : {&now, &next}) {
            touch_block(p->row(first) + begin, last - first, end - begin, p->stride(), weft::access::write);
        }
        spend((last - first) * (end - begin), heat_start_cycles_per_point,
              [&] { fill(first, last, begin, end); });
    }
    void fill(std::size_t first, std::size_t last, std::size_t begin, std::size_t end) const {
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t j = begin; j < end; ++j) {
                const bool border = i == 0 || i == now.rows() + 1 || j == 0 || j == now.cols() + 1;
                now.row(i)[j] = border ? 0 : static_cast<float>(mode.value(now, i, j));
                next.row(i)[j] = 0;
            }
        }
    }
    static std::size_t plates() { return 2; }
};

inline square whole(const plate& p) { return {1, 1, p.rows(), p.cols()}; }

inline void squares_start(plate& now, plate& next, const heat_mode& mode, const squares_settings& settings) {
    const heat_start_square block{now, next, mode};
    square_division(block, settings, 0).all(whole(now));
}

// After an even number of sweeps the result is in `a`, after an odd number in `b`.
inline void squares(plate& a, plate& b, std::size_t sweeps, const squares_settings& settings) {
    for (std::size_t k = 0; k < sweeps; ++k) {
        weft::iteration(static_cast<int>(k));
        const heat_square_of block{k % 2 == 0 ? a : b, k % 2 == 0 ? b : a};
        square_division(block, settings, k).all(whole(a));
    }
}

inline void squares_serial(plate& a, plate& b, std::size_t sweeps) {
    for (std::size_t k = 0; k < sweeps; ++k) {
        heat_square(k % 2 == 0 ? a : b, k % 2 == 0 ? b : a, whole(a));
    }
}

} // namespace examples
