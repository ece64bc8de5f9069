// Stable merge sort with a parallel merge.
//
// The two halves are sorted in parallel, each into the other of two buffers, and then merged: the longer
// run is cut in its middle, the other one where that element belongs, and both pairs of pieces are merged
// in parallel. So the span is the cube of the logarithm, not linear as with a serial merge.
#pragma once

#include "../common/cost.hpp"

#include <weft/weft.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>

namespace examples {

inline constexpr std::size_t merge_sort_leaf = 4096;

// Of records of 16 bytes with random keys: one that is merged; one that is sorted serially, for each bit of
// their number.
inline constexpr double merge_cycles_per_record = 14, sort_cycles_per_record_and_bit = 13.5;

// Equal elements of the first run come before those of the second.
template <class Value, class Less>
void parallel_merge(Value* a, Value* a_end, Value* b, Value* b_end, Value* out, const Less& less,
                    std::size_t leaf) {
    auto a_size = static_cast<std::size_t>(a_end - a), b_size = static_cast<std::size_t>(b_end - b);
    if (a_size + b_size <= leaf) {
        weft::touch(a, a_size * sizeof(Value), weft::access::read);
        weft::touch(b, b_size * sizeof(Value), weft::access::read);
        weft::touch(out, (a_size + b_size) * sizeof(Value), weft::access::write);
        spend(a_size + b_size, merge_cycles_per_record);
        std::merge(a, a_end, b, b_end, out, less);
        return;
    }
    Value *a_cut, *b_cut;
    if (a_size >= b_size) {
        a_cut = a + a_size / 2;
        b_cut = std::lower_bound(b, b_end, *a_cut, less);
    } else {
        b_cut = b + b_size / 2;
        a_cut = std::upper_bound(a, a_end, *b_cut, less);
    }
    Value* out_cut = out + (a_cut - a) + (b_cut - b);
    weft::join([&] { parallel_merge(a, a_cut, b, b_cut, out, less, leaf); },
               [&] { parallel_merge(a_cut, a_end, b_cut, b_end, out_cut, less, leaf); });
}

template <class Value, class Less>
void insertion_sort(Value* first, Value* last, const Less& less) {
    for (Value* next = first; next != last; ++next) {
        std::rotate(std::upper_bound(first, next, *next, less), next, next + 1);
    }
}

// Sorts `values` into itself, or into `spare` when `into_spare`; both end up overwritten.
template <class Value, class Less>
void serial_merge_sort(Value* values, Value* spare, std::size_t n, bool into_spare, const Less& less) {
    if (n <= 16) {
        insertion_sort(values, values + n, less);
        if (into_spare) std::copy(values, values + n, spare);
        return;
    }
    std::size_t half = n / 2;
    serial_merge_sort(values, spare, half, !into_spare, less);
    serial_merge_sort(values + half, spare + half, n - half, !into_spare, less);
    Value* from = into_spare ? values : spare;
    std::merge(from, from + half, from + half, from + n, into_spare ? spare : values, less);
}

// The same in parallel.
template <class Value, class Less>
void merge_sort(Value* values, Value* spare, std::size_t n, bool into_spare, const Less& less,
                std::size_t leaf) {
    if (n <= leaf) {
        for (Value* touched : {values, spare})
            weft::touch(touched, n * sizeof(Value), weft::access::readwrite);
        spend(n * static_cast<std::size_t>(std::bit_width(n)), sort_cycles_per_record_and_bit);
        serial_merge_sort(values, spare, n, into_spare, less);
        return;
    }
    std::size_t half = n / 2;
    weft::join([&] { merge_sort(values, spare, half, !into_spare, less, leaf); },
               [&] { merge_sort(values + half, spare + half, n - half, !into_spare, less, leaf); });
    Value* from = into_spare ? values : spare;
    Value* to = into_spare ? spare : values;
    parallel_merge(from, from + half, from + half, from + n, to, less, leaf);
}

template <class Value, class Less>
void merge_sort(Value* values, std::size_t n, const Less& less, std::size_t leaf = merge_sort_leaf) {
    auto spare = std::make_unique_for_overwrite<Value[]>(n);
    merge_sort(values, spare.get(), n, false, less, std::max<std::size_t>(leaf, 2));
}

} // namespace examples
