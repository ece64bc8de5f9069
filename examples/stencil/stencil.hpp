// Sweeps of a stencil over two copies of a block of points whose border does not change: 9P, 6P and 25P and
// their irregular relatives of Chen and Guo (common/division.hpp).
//
//   nine_points         of a plane, with the neighbours at the corners
//   six_points          of a block, the mean of the six neighbours
//   twenty_five_points  of a block, a step of diffusion by the formula of eighth order: four neighbours in
//                       each of the six directions
//
// A sweep divides the planes across the first direction. The strips are the same in every sweep and at the
// start.
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

namespace examples {

inline constexpr double stencil_start_cycles_per_point = 6;

// The new value of a point at `p`, whose neighbours are `x` and `y` numbers away and 1 in the third
// direction.
struct nine_points {
    static constexpr std::size_t reach = 1;
    static constexpr bool flat = true; // without the second direction
    static constexpr double cycles_per_point = 3.6;

    static double at(const double* p, std::ptrdiff_t x, std::ptrdiff_t) {
        const double sides = (p[x] + p[-x]) + (p[1] + p[-1]);
        const double corners = (p[x + 1] + p[x - 1]) + (p[1 - x] + p[-x - 1]);
        return 0.2 * sides + 0.05 * corners;
    }
};

struct six_points {
    static constexpr std::size_t reach = 1;
    static constexpr bool flat = false;
    static constexpr double cycles_per_point = 4;

    static double at(const double* p, std::ptrdiff_t x, std::ptrdiff_t y) {
        return ((p[x] + p[-x]) + (p[y] + p[-y]) + (p[1] + p[-1])) / 6;
    }
};

struct twenty_five_points {
    static constexpr std::size_t reach = 4;
    static constexpr bool flat = false;
    static constexpr double cycles_per_point = 18;

    // Second derivative in one direction by nine points; the step is short enough for a stable course.
    static constexpr double weights[] = {-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315, -1.0 / 560}, step = 0.05;

    static double at(const double* p, std::ptrdiff_t x, std::ptrdiff_t y) {
        double sum = 3 * weights[0] * p[0];
        for (std::ptrdiff_t d = 1; d <= 4; ++d) {
            sum += weights[d] * ((p[d * x] + p[-d * x]) + (p[d * y] + p[-d * y]) + (p[d] + p[-d]));
        }
        return p[0] + step * sum;
    }
};

struct extents {
    std::size_t x, y, z;
};

// The inner points and, around them, as many as a stencil reaches. The values are not initialised, so that a
// page belongs to the worker that first writes it.
template <class Stencil>
class block_of_points {
public:
    static constexpr std::size_t border = Stencil::reach, border_y = Stencil::flat ? 0 : border;

    explicit block_of_points(const extents& inner)
        : inner_(inner)
        , row_(inner.z + 2 * border)
        , plane_((inner.y + 2 * border_y) * row_)
        , values_(std::make_unique_for_overwrite<double[]>(planes() * plane_)) {}

    const extents& inner() const { return inner_; }
    std::size_t planes() const { return inner_.x + 2 * border; } // with those of the border
    std::size_t row_size() const { return row_; }
    std::size_t plane_size() const { return plane_; }
    double* plane(std::size_t i) { return values_.get() + i * plane_; }
    const double* plane(std::size_t i) const { return values_.get() + i * plane_; }

    weft::hints hint(std::size_t first, std::size_t last) const {
        return {.work = static_cast<double>(last - first),
                .bytes = 2 * (last - first) * plane_ * sizeof(double),
                .data_begin = plane(first),
                .data_end = plane(last)};
    }

private:
    extents inner_;
    std::size_t row_, plane_;
    std::unique_ptr<double[]> values_;
};

// Planes [first, last) of `next` from `now`.
template <class Stencil>
void stencil_planes(const block_of_points<Stencil>& now, block_of_points<Stencil>& next, std::size_t first,
                    std::size_t last) {
    using block = block_of_points<Stencil>;
    const auto x = static_cast<std::ptrdiff_t>(now.plane_size());
    const auto y = static_cast<std::ptrdiff_t>(now.row_size());
    for (std::size_t i = first; i < last; ++i) {
        for (std::size_t j = block::border_y; j < block::border_y + now.inner().y; ++j) {
            const std::size_t row = j * now.row_size() + block::border;
            const double* in = now.plane(i) + row;
            double* __restrict out = next.plane(i) + row;
            for (std::size_t k = 0; k < now.inner().z; ++k) out[k] = Stencil::at(in + k, x, y);
        }
    }
}

// BEGIN-EXAMPLE stencil
template <class Stencil>
struct stencil_rows {
    const block_of_points<Stencil>& now;
    block_of_points<Stencil>& next;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t plane_bytes = now.plane_size() * sizeof(double), reach = Stencil::reach;
        weft::touch(now.plane(first - reach), (last - first + 2 * reach) * plane_bytes, weft::access::read);
        weft::touch(next.plane(first), (last - first) * plane_bytes, weft::access::write);
        spend((last - first) * now.inner().y * now.inner().z, Stencil::cycles_per_point,
              [&] { stencil_planes(now, next, first, last); });
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return next.hint(first, last); }
};

// After an even number of sweeps the result is in `a`, after an odd number in `b`.
template <class Stencil>
void stencil(block_of_points<Stencil>& a, block_of_points<Stencil>& b, std::size_t sweeps,
             std::size_t leaf_planes, task_tree tree = task_tree::regular) {
    const std::size_t first = Stencil::reach, last = first + a.inner().x;
    for (std::size_t k = 0; k < sweeps; ++k) {
        weft::iteration(static_cast<int>(k));
        const bool even = k % 2 == 0;
        divide_rows(stencil_rows<Stencil>{even ? a : b, even ? b : a}, first, last, leaf_planes, tree);
    }
}
// END-EXAMPLE stencil

// Random numbers, the same in both copies, borders included.
template <class Stencil>
struct stencil_start_rows {
    block_of_points<Stencil>&a, &b;
    std::uint64_t seed;

    void leaf(std::size_t first, std::size_t last) const {
        const std::size_t reach = Stencil::reach;
        const std::size_t begin = first == reach ? 0 : first;
        const std::size_t end = last == reach + a.inner().x ? a.planes() : last;
        const std::size_t numbers = (end - begin) * a.plane_size();
        for (auto* block : {&a, &b}) {
            weft::touch(block->plane(begin), numbers * sizeof(double), weft::access::write);
        }
        spend(numbers, stencil_start_cycles_per_point, [&] {
            for (std::size_t i = 0; i < numbers; ++i) {
                a.plane(begin)[i] = random_from_minus_1_to_1(seed, begin * a.plane_size() + i);
                b.plane(begin)[i] = a.plane(begin)[i];
            }
        });
    }
    weft::hints hint(std::size_t first, std::size_t last) const { return a.hint(first, last); }
};

template <class Stencil>
void stencil_start(block_of_points<Stencil>& a, block_of_points<Stencil>& b, std::uint64_t seed,
                   std::size_t leaf_planes, task_tree tree = task_tree::regular) {
    divide_rows(stencil_start_rows<Stencil>{a, b, seed}, Stencil::reach, Stencil::reach + a.inner().x,
                leaf_planes, tree);
}

template <class Stencil>
void stencil_serial(block_of_points<Stencil>& a, block_of_points<Stencil>& b, std::size_t sweeps) {
    const std::size_t first = Stencil::reach, last = first + a.inner().x;
    for (std::size_t k = 0; k < sweeps; ++k) {
        const bool even = k % 2 == 0;
        stencil_planes(even ? a : b, even ? b : a, first, last);
    }
}

template <class Stencil>
bool same_values(const block_of_points<Stencil>& x, const block_of_points<Stencil>& y) {
    return std::equal(x.plane(0), x.plane(x.planes()), y.plane(0));
}

// What a sweep changes of x^2 + y^2 - 2 z^2, or x^2 - z^2 in a plane, on a small block: nothing but rounding,
// since Laplace's equation holds and the stencils are exact for squares.
template <class Stencil>
double stencil_error() {
    block_of_points<Stencil> a({12, Stencil::flat ? 1U : 10U, 11}), b(a.inner());
    const auto value = [&](std::size_t i, std::size_t place) {
        const auto square = [](std::size_t n) { return static_cast<double>(n * n) / 100; };
        const std::size_t j = place / a.row_size(), k = place % a.row_size();
        return square(i) + square(j) - (Stencil::flat ? 1 : 2) * square(k);
    };
    for (std::size_t i = 0; i < a.planes(); ++i) {
        for (std::size_t place = 0; place < a.plane_size(); ++place) {
            a.plane(i)[place] = b.plane(i)[place] = value(i, place);
        }
    }
    stencil_serial(a, b, 1);
    double worst = 0;
    for (std::size_t i = 0; i < a.planes() * a.plane_size(); ++i) {
        worst = std::fmax(worst, std::fabs(a.plane(0)[i] - b.plane(0)[i]));
    }
    return worst;
}

} // namespace examples
