// The Mandelbrot set, by rows: no data to speak of, and rows that differ in work. MB of Chen and Guo
// (common/division.hpp).
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"

#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace examples {

// A step of the iteration, each of whose operations waits
// for the one before.
inline constexpr double mandelbrot_cycles_per_step = 9.9;

// The square from -2 - 1.5i to 1 + 1.5i, in side x side points.
struct mandelbrot_picture {
    std::size_t side;
    std::uint32_t most_steps;
    std::vector<std::uint32_t> steps = std::vector<std::uint32_t>(side * side); // most_steps: of the set

    // Steps until the point of row `i` and column `j` is further than 2 from the origin.
    std::uint32_t steps_at(std::size_t i, std::size_t j) const {
        const double pitch = 3 / static_cast<double>(side);
        const double re = -2 + (static_cast<double>(j) + 0.5) * pitch;
        const double im = -1.5 + (static_cast<double>(i) + 0.5) * pitch;
        double x = 0, y = 0;
        std::uint32_t n = 0;
        for (; n < most_steps && x * x + y * y <= 4; ++n) {
            const double next = x * x - y * y + re;
            y = 2 * x * y + im;
            x = next;
        }
        return n;
    }

    // Returns the steps taken.
    std::uint64_t draw(std::size_t first, std::size_t last) {
        std::uint64_t sum = 0;
        for (std::size_t i = first; i < last; ++i) {
            for (std::size_t j = 0; j < side; ++j) sum += steps[i * side + j] = steps_at(i, j);
        }
        return sum;
    }

    double area() const {
        std::size_t inside = 0;
        for (std::uint32_t n : steps) inside += n == most_steps;
        return 9 * static_cast<double>(inside) / static_cast<double>(steps.size());
    }
};

// BEGIN-EXAMPLE mandelbrot
struct mandelbrot_rows {
    mandelbrot_picture& picture;

    void leaf(std::size_t first, std::size_t last) const {
        const std::uint64_t steps = picture.draw(first, last);
        weft::touch(pixels(first), bytes(first, last), weft::access::write);
        spend(steps, mandelbrot_cycles_per_step); // known only now
    }
    weft::hints hint(std::size_t first, std::size_t last) const {
        return {.work = static_cast<double>(last - first), // what is known before
                .bytes = bytes(first, last),
                .data_begin = pixels(first),
                .data_end = pixels(last)};
    }

    const std::uint32_t* pixels(std::size_t row) const { return picture.steps.data() + row * picture.side; }
    std::size_t bytes(std::size_t first, std::size_t last) const {
        return (last - first) * picture.side * sizeof(std::uint32_t);
    }
};

inline void mandelbrot(mandelbrot_picture& picture, std::size_t leaf_rows) {
    divide_rows(mandelbrot_rows{picture}, 0, picture.side, leaf_rows);
}
// END-EXAMPLE mandelbrot

// By counting points, to four digits; finitely many steps and points make a difference. (T. Foerstemann:
// Numerical estimation of the area of the Mandelbrot set, 2012.)
inline constexpr double mandelbrot_area = 1.5066;

inline double mandelbrot_area_tolerance(const mandelbrot_picture& picture) {
    return 6 / static_cast<double>(picture.side) + 6 / static_cast<double>(picture.most_steps);
}

} // namespace examples
