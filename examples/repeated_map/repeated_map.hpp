// Recursive repeated map: an array is mapped three times, then each of its halves likewise, and so on.
//
//   H. V. Simhadri, G. E. Blelloch, J. T. Fineman, P. B. Gibbons, A. Kyrola: Experimental analysis of
//   space-bounded schedulers. SPAA 2014; in the form of S. Shiina: Efficient Thread Scheduling Strategies
//   for Nested Parallel Programs. Master's thesis, University of Tokyo 2021, section 5.5.1.
//
// A map does next to nothing with each number: all depends on whether the numbers are still in the cache that
// the map before has brought them to.
#pragma once

#include "../common/cost.hpp"
#include "../common/division.hpp"

#include <weft/weft.hpp>

#include <cmath>
#include <cstddef>

namespace examples {

inline constexpr int repeated_maps = 3;
// Below so many bytes an array is not halved any more, and below so many bytes one task maps it.
inline constexpr std::size_t repeated_map_bytes = 32 << 10, map_bytes = 128 << 10;

// A product and a sum, two at a time.
inline constexpr double map_cycles_per_number = 1.4;

// a += 1 * a: doubled, so that every result is known exactly.
inline constexpr double map_factor = 1;

inline void map_numbers(double* numbers, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) numbers[i] += map_factor * numbers[i];
}

struct mapped_rows {
    double* numbers;

    void leaf(std::size_t first, std::size_t last) const {
        weft::touch(numbers + first, (last - first) * sizeof(double), weft::access::readwrite);
        spend(last - first, map_cycles_per_number, [&] { map_numbers(numbers + first, last - first); });
    }
    weft::hints hint(std::size_t first, std::size_t last) const {
        return {.work = static_cast<double>(last - first),
                .bytes = (last - first) * sizeof(double),
                .data_begin = numbers + first,
                .data_end = numbers + last};
    }
};

inline bool is_halved(std::size_t n) { return n * sizeof(double) >= repeated_map_bytes; }

// BEGIN-EXAMPLE repeated_map
inline void repeated_map(double* numbers, std::size_t n) {
    const mapped_rows rows{numbers};
    if (!is_halved(n)) {
        for (int k = 0; k < repeated_maps; ++k) rows.leaf(0, n);
        return;
    }
    for (int k = 0; k < repeated_maps; ++k) divide_rows(rows, 0, n, map_bytes / sizeof(double) - 1);
    const std::size_t half = n / 2;
    weft::task_group halves(rows.hint(0, n));
    halves.run([=] { repeated_map(numbers, half); }, rows.hint(0, half));
    halves.run([=] { repeated_map(numbers + half, n - half); }, rows.hint(half, n));
    halves.wait();
}
// END-EXAMPLE repeated_map

// How often number `i` of an array of n is mapped.
inline int times_mapped(std::size_t i, std::size_t n) {
    int times = repeated_maps;
    for (; is_halved(n); times += repeated_maps) {
        const std::size_t half = n / 2;
        const bool left = i < half;
        i -= left ? 0 : half;
        n = left ? half : n - half;
    }
    return times;
}

// What the number `start` in place `i` of an array of n becomes.
inline double repeated_map_result(double start, std::size_t i, std::size_t n, int repetitions) {
    return std::ldexp(start, repetitions * times_mapped(i, n));
}

} // namespace examples
