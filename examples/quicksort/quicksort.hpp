// Quicksort: partition, then sort both sides in parallel.
//
// Up to `leaf` elements go to std::sort. So does a range that was divided more often than twice the
// logarithm of its size, which bounds the time whatever the input.
#pragma once

#include "../common/cost.hpp"
#include "../common/hint.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace examples {

inline constexpr std::size_t quicksort_leaf = 4096;

// Of random keys, where every other comparison surprises the processor: a key that is partitioned; a key that
// std::sort sorts, for each bit of their number.
inline constexpr double partition_cycles_per_key = 9.4, sort_cycles_per_key_and_bit = 9.5;

inline std::uint64_t median_of_three(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

// Hoare's partition: returns `middle` with first < middle < last, no element before it above the pivot and
// none from it on below. Equal elements go to both sides, so many of them do not unbalance it.
inline std::uint64_t* partition_keys(std::uint64_t* first, std::uint64_t* last) {
    std::uint64_t pivot = median_of_three(first[0], first[(last - first) / 2], last[-1]);
    std::uint64_t* i = first;
    std::uint64_t* j = last - 1;
    for (;;) {
        while (*i < pivot) ++i;
        while (pivot < *j) --j;
        // Here i == first means that the first key is the pivot and all others are above it.
        if (i >= j) return i == first ? i + 1 : i;
        std::swap(*i++, *j--);
    }
}

// BEGIN-EXAMPLE quicksort
inline void quicksort(std::uint64_t* first, std::uint64_t* last, std::size_t leaf, int divisions_left) {
    auto n = static_cast<std::size_t>(last - first);
    weft::touch(first, n * sizeof *first, weft::access::readwrite);
    if (n <= leaf || divisions_left == 0) {
        spend(n * static_cast<std::size_t>(std::bit_width(n)), sort_cycles_per_key_and_bit);
        std::sort(first, last);
        return;
    }
    spend(n, partition_cycles_per_key);
    std::uint64_t* middle = partition_keys(first, last);
    auto left = static_cast<std::size_t>(middle - first);

    weft::task_group sides(hint(n, n * sizeof *first));
    sides.run([=] { quicksort(first, middle, leaf, divisions_left - 1); }, hint(left, left * sizeof *first));
    sides.run([=] { quicksort(middle, last, leaf, divisions_left - 1); },
              hint(n - left, (n - left) * sizeof *first));
    sides.wait();
}
// END-EXAMPLE quicksort

inline void quicksort(std::uint64_t* first, std::uint64_t* last, std::size_t leaf = quicksort_leaf) {
    auto n = static_cast<std::size_t>(last - first);
    quicksort(first, last, std::max<std::size_t>(leaf, 2), 2 * static_cast<int>(std::bit_width(n)));
}

} // namespace examples
