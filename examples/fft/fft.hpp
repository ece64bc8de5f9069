// Fast Fourier transform by halves, for a power of two: the even and the odd places are put apart and
// transformed, both at once, and then combined. (Cooley and Tukey 1965; FFT of Chen and Guo.)
//
// Taking apart and combining are loops over disjoint places and run in parallel too. The order of every sum
// is fixed by the size alone, so the result has the same bits whatever the schedule.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace examples {

inline constexpr std::size_t fft_leaf = 2048;

// A number that is put apart; one that is combined; one
// that is transformed serially, for each halving.
inline constexpr double fft_apart_cycles_per_number = 0.7, fft_combine_cycles_per_number = 2.1,
                        fft_cycles_per_number_and_halving = 3.1;

struct complex_number {
    double re = 0, im = 0;

    friend complex_number operator+(complex_number a, complex_number b) { return {a.re + b.re, a.im + b.im}; }
    friend complex_number operator-(complex_number a, complex_number b) { return {a.re - b.re, a.im - b.im}; }
    // Without the rules for infinite factors that std::complex has.
    friend complex_number operator*(complex_number a, complex_number b) {
        return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    friend bool operator==(complex_number, complex_number) = default;
    double square() const { return re * re + im * im; }
};

// exp(-2 pi i k / n)
inline complex_number unit_root(std::size_t k, std::size_t n) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    return {std::cos(angle), std::sin(angle)};
}

class fft {
public:
    // For up to `n` numbers, a power of two.
    explicit fft(std::size_t n, std::size_t leaf = fft_leaf)
        : leaf_(std::max<std::size_t>(leaf, 1))
        , roots_(n)
        , spare_(n) {
        for (std::size_t size = 2; size <= n; size *= 2) {
            for (std::size_t k = 0; k < size / 2; ++k) roots_[size / 2 + k] = unit_root(k, size);
        }
    }

    // In place.
    void operator()(std::vector<complex_number>& numbers) {
        transform(numbers.data(), spare_.data(), numbers.size());
    }
    // The same by levels, each a loop over all arrays of that length: loop(n, block, f) calls f(first, last) for parts of [0, n).
    template <class Loop>
    void by_levels(std::vector<complex_number>& numbers, const Loop& loop) {
        complex_number *from = numbers.data(), *to = spare_.data();
        const std::size_t n = numbers.size();
        // f(array, first, last) for the parts of a level that lie in one array, which has `each` of them.
        const auto over = [&](std::size_t each, const auto& f) {
            loop(n / 2, leaf_, [&](std::size_t first, std::size_t last) {
                for (std::size_t end = 0; first < last; first = end) {
                    const std::size_t array = first / each * each;
                    end = std::min(last, array + each);
                    f(2 * array, first - array, end - array);
                }
            });
        };
        std::size_t size = n;
        for (; size > leaf_; size /= 2, std::swap(from, to))
            over(size / 2, [&](std::size_t at, std::size_t first, std::size_t last) {
                apart_rows{from + at, to + at, size}.leaf(first, last);
            });
        loop(n / size, std::size_t{1}, [&](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) transform_leaf(from + i * size, to + i * size, size);
        });
        while (size < n) {
            size *= 2;
            std::swap(from, to);
            over(size / 2, [&](std::size_t at, std::size_t first, std::size_t last) {
                combined_rows{*this, to + at, from + at, size}.leaf(first, last);
            });
        }
    }
    void serially(std::vector<complex_number>& numbers) {
        transform_serially(numbers.data(), spare_.data(), numbers.size());
    }

private:
    // The roots of unity that combine halves into n numbers lie together, those for fewer numbers before
    // them.
    const complex_number* roots_for(std::size_t n) const { return roots_.data() + n / 2; }

    static void put_apart(const complex_number* from, complex_number* to, std::size_t n, std::size_t first,
                          std::size_t last) {
        for (std::size_t k = first; k < last; ++k) {
            to[k] = from[2 * k];
            to[k + n / 2] = from[2 * k + 1];
        }
    }

    void combine(const complex_number* from, complex_number* __restrict to, std::size_t n, std::size_t first,
                 std::size_t last) const {
        const complex_number* roots = roots_for(n);
        for (std::size_t k = first; k < last; ++k) {
            const complex_number even = from[k], odd = roots[k] * from[k + n / 2];
            to[k] = even + odd;
            to[k + n / 2] = even - odd;
        }
    }

    static weft::hints hint(const complex_number* numbers, std::size_t n) {
        return {.work = static_cast<double>(n * static_cast<std::size_t>(std::bit_width(n))),
                .bytes = 2 * n * sizeof(complex_number),
                .data_begin = numbers,
                .data_end = numbers + n};
    }

    static void touch(const complex_number* numbers, std::size_t n, weft::access how) {
        weft::touch(numbers, n * sizeof(complex_number), how);
    }

    // Loops over the halves of n numbers.
    struct apart_rows {
        const complex_number* from;
        complex_number* to;
        std::size_t n;

        void leaf(std::size_t first, std::size_t last) const {
            const std::size_t count = last - first;
            touch(from + 2 * first, 2 * count, weft::access::read);
            touch(to + first, count, weft::access::write);
            touch(to + n / 2 + first, count, weft::access::write);
            spend(2 * count, fft_apart_cycles_per_number);
            put_apart(from, to, n, first, last);
        }
        weft::hints hint(std::size_t first, std::size_t last) const {
            return {.work = static_cast<double>(last - first),
                    .bytes = 4 * (last - first) * sizeof(complex_number),
                    .data_begin = from + 2 * first,
                    .data_end = from + 2 * last};
        }
    };

    struct combined_rows {
        const fft& by;
        const complex_number* from;
        complex_number* to;
        std::size_t n;

        void leaf(std::size_t first, std::size_t last) const {
            const std::size_t count = last - first;
            touch(by.roots_for(n) + first, count, weft::access::read);
            for (std::size_t half : {std::size_t{0}, n / 2}) {
                touch(from + half + first, count, weft::access::read);
                touch(to + half + first, count, weft::access::write);
            }
            spend(2 * count, fft_combine_cycles_per_number);
            by.combine(from, to, n, first, last);
        }
        weft::hints hint(std::size_t first, std::size_t last) const {
            return {.work = static_cast<double>(last - first),
                    .bytes = 5 * (last - first) * sizeof(complex_number),
                    .data_begin = to + first,
                    .data_end = to + last};
        }
    };

    // BEGIN-EXAMPLE fft
    void transform(complex_number* numbers, complex_number* spare, std::size_t n) const {
        if (n <= leaf_) return transform_leaf(numbers, spare, n);
        const std::size_t half = n / 2;
        divide_rows(apart_rows{numbers, spare, n}, 0, half, leaf_);
        weft::join([=, this] { transform(spare, numbers, half); },
                   [=, this] { transform(spare + half, numbers + half, half); },
                   {hint(spare, half), hint(spare + half, half)});
        divide_rows(combined_rows{*this, spare, numbers, n}, 0, half, leaf_);
    }
    // END-EXAMPLE fft

    void transform_leaf(complex_number* numbers, complex_number* spare, std::size_t n) const {
        touch(numbers, n, weft::access::readwrite);
        touch(spare, n, weft::access::readwrite);
        touch(roots_.data(), n, weft::access::read);
        spend(n * static_cast<std::size_t>(std::bit_width(n) - 1), fft_cycles_per_number_and_halving);
        transform_serially(numbers, spare, n);
    }

    void transform_serially(complex_number* numbers, complex_number* spare, std::size_t n) const {
        if (n == 1) return;
        const std::size_t half = n / 2;
        put_apart(numbers, spare, n, 0, half);
        transform_serially(spare, numbers, half);
        transform_serially(spare + half, numbers + half, half);
        combine(spare, numbers, n, 0, half);
    }

    std::size_t leaf_;
    std::vector<complex_number> roots_, spare_;
};

// Frequency `f` by its definition.
inline complex_number frequency(const std::vector<complex_number>& numbers, std::size_t f) {
    complex_number sum;
    const std::size_t n = numbers.size();
    for (std::size_t i = 0; i < n; ++i) sum = sum + numbers[i] * unit_root(i * f % n, n);
    return sum;
}

} // namespace examples
