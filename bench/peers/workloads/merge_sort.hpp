// Merge sort with a parallel merge: halves are sorted by forks, each into the other of two buffers; a merge
// is cut where the middle of its longer run belongs in the other one. Serial below `leaf` elements.
#pragma once

#include "keys.hpp"
#include "needs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace peers {

struct merge_sort {
    static constexpr std::string_view name = "merge_sort", needs = "forks";
    static constexpr int size = 10'000'000, warm = 100'000;
    static constexpr std::size_t leaf = 4096, few = 24;

    using value = std::uint32_t;

    explicit merge_sort(int n) : data(n), spare(data.values.size()) {}

    static void insertion_sort(value* a, std::size_t n) {
        for (std::size_t i = 1; i < n; ++i) {
            const value v = a[i];
            std::size_t j = i;
            for (; j > 0 && v < a[j - 1]; --j) a[j] = a[j - 1];
            a[j] = v;
        }
    }

    static void merge_leaf(const value* a, const value* a_end, const value* b, const value* b_end,
                           value* out) {
        while (a != a_end && b != b_end) {
            const bool second = *b < *a;
            *out++ = second ? *b : *a;
            b += second;
            a += !second;
        }
        std::copy(b, b_end, std::copy(a, a_end, out));
    }

    template <forks Strand>
    static void merge(Strand here, const value* a, const value* a_end, const value* b, const value* b_end,
                      value* out) {
        if (static_cast<std::size_t>((a_end - a) + (b_end - b)) <= leaf)
            return merge_leaf(a, a_end, b, b_end, out);
        const value *a_cut, *b_cut;
        if (a_end - a >= b_end - b) {
            a_cut = a + (a_end - a) / 2;
            b_cut = std::lower_bound(b, b_end, *a_cut);
        } else {
            b_cut = b + (b_end - b) / 2;
            a_cut = std::upper_bound(a, a_end, *b_cut);
        }
        value* const out_cut = out + (a_cut - a) + (b_cut - b);
        here.fork([=](Strand s) { merge(s, a, a_cut, b, b_cut, out); },
                  [=](Strand s) { merge(s, a_cut, a_end, b_cut, b_end, out_cut); });
    }

    /// Sorts `values` into itself, or into `spare`; both end up overwritten.
    template <forks Strand>
    static void sort(Strand here, value* values, value* spare, std::size_t n, bool into_spare) {
        if (n <= few) {
            insertion_sort(values, n);
            if (into_spare) std::copy(values, values + n, spare);
            return;
        }
        const std::size_t half = n / 2;
        const auto left = [=](Strand s) { sort(s, values, spare, half, !into_spare); };
        const auto right = [=](Strand s) { sort(s, values + half, spare + half, n - half, !into_spare); };
        if (n <= leaf) {
            left(here);
            right(here);
        } else {
            here.fork(left, right);
        }
        const value* from = into_spare ? values : spare;
        value* const to = into_spare ? spare : values;
        merge(here, from, from + half, from + half, from + n, to);
    }

    template <forks Strand>
    void run(Strand here) {
        sort(here, data.values.data(), spare.data(), data.values.size(), false);
    }
    bool is_right() const { return data.are_sorted(); }

    keys data;
    std::vector<value> spare;
};

} // namespace peers
