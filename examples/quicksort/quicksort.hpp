// Quicksort: partition, then sort both sides in parallel.
//
// Up to `leaf` elements go to std::sort. So does a range that was divided more often than twice the
// logarithm of its size, which bounds the time whatever the input.
#pragma once

#include "../common/cost.hpp"
#include "../common/hint.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace examples {

inline constexpr std::size_t quicksort_leaf = 4096;

// Of random keys, where every other comparison surprises the processor: a key that is partitioned; a key that
// std::sort sorts, for each bit of their number.
inline constexpr double partition_cycles_per_key = 9.4, sort_cycles_per_key_and_bit = 9.5;
// One that is counted or moved without a branch.
inline constexpr double count_cycles_per_key = 3.2, move_cycles_per_key = 6.5;

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

// Whole, by tasks that may run at the same time, and so do its partitions: the form of S. Shiina:
// Efficient Thread Scheduling Strategies for Nested Parallel Programs. Master's thesis, University of Tokyo
// 2021, section 5.5.1.
//
// The keys go from one array to the other and back, those equal to the pivot to their place at once. Each
// partition has two passes over the keys, by blocks: one counts, one moves.
class partitioned_sort {
public:
    // `spare` has room for as many keys. The result is in `keys`.
    static void sort(std::uint64_t* keys, std::uint64_t* spare, std::size_t n, std::size_t leaf) {
        range(keys, spare, n, std::max<std::size_t>(leaf, 1), true, 2 * static_cast<int>(std::bit_width(n)));
    }

private:
    static constexpr std::size_t block_keys = 8192; // 64 KiB
    // Keys below the pivot, equal to it, above it: how many, then where the next one goes.
    using parts = std::array<std::size_t, 3>;

    static std::size_t part_of(std::uint64_t key, std::uint64_t pivot) {
        return static_cast<std::size_t>(key >= pivot) + static_cast<std::size_t>(key > pivot);
    }

    // Sorts what is in `from`; the result goes there if `stays`, else to `to`.
    static void range(std::uint64_t* from, std::uint64_t* to, std::size_t n, std::size_t leaf, bool stays,
                      int divisions_left) {
        if (n == 0) return;
        if (n <= leaf || divisions_left == 0) {
            weft::touch(from, n * sizeof *from, weft::access::readwrite);
            spend(n * static_cast<std::size_t>(std::bit_width(n)), sort_cycles_per_key_and_bit);
            std::sort(from, from + n);
            if (stays) return;
            weft::touch(to, n * sizeof *to, weft::access::write);
            std::copy_n(from, n, to);
            return;
        }
        const std::uint64_t pivot = median_of_three(from[0], from[1 % n], from[2 % n]);
        const parts end = partition(from, to, n, pivot);
        const std::size_t below = end[0], upper = end[1], above = n - upper;
        if (stays) { // the equal ones are at their place in the other array
            weft::touch(from + below, (upper - below) * sizeof *from, weft::access::write);
            std::copy(to + below, to + upper, from + below);
        }
        weft::task_group sides(hint(below + above, 2 * n * sizeof *from));
        sides.run([=] { range(to, from, below, leaf, !stays, divisions_left - 1); },
                  hint(below, 2 * below * sizeof *from));
        sides.run([=] { range(to + upper, from + upper, above, leaf, !stays, divisions_left - 1); },
                  hint(above, 2 * above * sizeof *from));
        sides.wait();
    }

    // Returns the ends of the three parts in `to`.
    static parts partition(const std::uint64_t* from, std::uint64_t* to, std::size_t n, std::uint64_t pivot) {
        std::vector<parts> next((n + block_keys - 1) / block_keys);
        auto for_blocks = [&](const auto& body) {
            weft::parallel_for(std::size_t{0}, next.size(),
                               [&](std::size_t b) {
                                   body(next[b], from + b * block_keys,
                                        std::min(block_keys, n - b * block_keys));
                               },
                               {.grain = 1, .work = static_cast<double>(n), .bytes = 2 * n * sizeof *to});
        };
        for_blocks([pivot](parts& mine, const std::uint64_t* keys, std::size_t count) {
            weft::touch(keys, count * sizeof *keys, weft::access::read);
            spend(count, count_cycles_per_key);
            for (std::size_t i = 0; i < count; ++i) ++mine[part_of(keys[i], pivot)];
        });
        std::size_t sum = 0;
        parts end{};
        for (std::size_t part = 0; part < end.size(); ++part) {
            for (parts& p : next) sum += std::exchange(p[part], sum);
            end[part] = sum;
        }
        for_blocks([pivot, to](parts at, const std::uint64_t* keys, std::size_t count) {
            const parts begin = at;
            weft::touch(keys, count * sizeof *keys, weft::access::read);
            spend(count, move_cycles_per_key);
            for (std::size_t i = 0; i < count; ++i) to[at[part_of(keys[i], pivot)]++] = keys[i];
            for (std::size_t part = 0; part < at.size(); ++part) {
                weft::touch(to + begin[part], (at[part] - begin[part]) * sizeof *to, weft::access::write);
            }
        });
        return end;
    }
};

inline void quicksort(std::uint64_t* first, std::uint64_t* last, std::size_t leaf = quicksort_leaf) {
    auto n = static_cast<std::size_t>(last - first);
    quicksort(first, last, std::max<std::size_t>(leaf, 2), 2 * static_cast<int>(std::bit_width(n)));
}

} // namespace examples
