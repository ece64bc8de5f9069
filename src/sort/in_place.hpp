#pragma once

#include <weft/impl/in_order.hpp>
#include <weft/join.hpp>
#include <weft/parallel.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// A parallel sort of keys that needs no buffer.
namespace weft::sort {

/// Quicksort whose partitions are parallel. The workers of a range each partition a piece of it; then the keys between
/// the pieces that are on the wrong side change places, which is a loop over pairs of stretches. Then both sides are
/// sorted at the same time, with the workers divided in proportion. A side for one worker is sorted by
/// `Keys::sort_leaf`.
///
/// `Keys` is the range; a key is an unsigned integer:
///   key                                a type
///   key_at(i) noexcept                 the key of element i
///   partition(first, last, pivot) noexcept -> middle      keys below the pivot first
///   swap(i, j, n) noexcept             elements [i, i + n) and [j, j + n) change places
///   sort_leaf(first, last) noexcept
///   leaf_length                        below it no side is cut further
///
/// Every step is a permutation, and what may throw for want of memory comes between steps. So no element is ever lost.
/// The partition after Francis and Pannan 1992, with pieces that are contiguous.
template <class Keys>
class parallel_quicksort {
    using key = typename Keys::key;
    using index = std::ptrdiff_t;

public:
    parallel_quicksort(const Keys& keys, index workers) : keys_(keys), workers_(workers) {}

    void sort(index n) {
        const auto is_before = [this](index i, index j) { return keys_.key_at(i) < keys_.key_at(j); };
        if (impl::is_in_order(n, {}, is_before)) return;
        const index leaves = workers_ * leaves_a_worker;
        sort(0, n, leaves, 2 * static_cast<int>(std::bit_width(static_cast<std::size_t>(leaves))));
    }

private:
    /// More than one, since workers are not equally fast, and a pivot is only near the middle.
    static constexpr index leaves_a_worker = 2;

    struct stretch {
        index first, length;
    };

    /// `leaves`: into how many leaves the range is to be cut. `levels`: how many partitions there may be, one after the
    /// other: a bad pivot costs one.
    void sort(index first, index last, index leaves, int levels) {
        const index n = last - first;
        if (leaves < 2 || levels == 0 || n < 2 * Keys::leaf_length) return keys_.sort_leaf(first, last);
        const key pivot = pivot_of(first, n);
        const index pieces = std::clamp<index>(leaves / leaves_a_worker, 1, n / Keys::leaf_length);
        const index middle = partition(first, last, pieces, pivot);
        if (middle == first) { // the pivot is the least key: all of its kind are sorted
            if (pivot == static_cast<key>(~key{0})) return;
            return sort(partition(first, last, pieces, static_cast<key>(pivot + 1)), last, leaves,
                        levels - 1);
        }
        const auto below = static_cast<index>(
            static_cast<double>(leaves) * static_cast<double>(middle - first) / static_cast<double>(n) + 0.5);
        const index left = std::clamp<index>(below, 1, leaves - 1);
        join([this, first, middle, left, levels] { sort(first, middle, left, levels - 1); },
             [this, middle, last, leaves, left, levels] { sort(middle, last, leaves - left, levels - 1); });
    }

    /// The median of a sample, one key out of each equal part. The positions follow from the length.
    key pivot_of(index first, index n) const {
        constexpr index samples = 511; // the middle within 2 %, mostly
        key sample[samples];
        const index part = n / samples;
        std::uint64_t dice = 0x9e37'79b9'7f4a'7c15U;
        for (index i = 0; i < samples; ++i) {
            dice = dice * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U; // Knuth's generator
            sample[i] = keys_.key_at(first + part * i +
                                     static_cast<index>((dice >> 33U) % static_cast<std::uint64_t>(part)));
        }
        std::nth_element(sample, sample + samples / 2, sample + samples);
        return sample[samples / 2];
    }

    /// Keys below the pivot come first; returns where the others begin.
    index partition(index first, index last, index pieces, key pivot) {
        if (pieces < 2) return keys_.partition(first, last, pivot);
        const index n = last - first;
        const auto from = [&](index piece) { return first + n * piece / pieces; };
        std::vector<index> middles(static_cast<std::size_t>(pieces));
        parallel_for(index{0}, pieces,
                     [&](index i) {
                         middles[static_cast<std::size_t>(i)] = keys_.partition(from(i), from(i + 1), pivot);
                     },
                     {.grain = 1});
        index middle = first;
        for (index i = 0; i < pieces; ++i) middle += middles[static_cast<std::size_t>(i)] - from(i);
        exchange(misplaced(pieces, from, middles, middle));
        return middle;
    }

    /// Keys that change places: those at `low` are before the middle and belong behind it, those at `high` vice versa.
    struct pair {
        index low, high, length;
    };

    template <class From>
    static std::vector<pair> misplaced(index pieces, const From& from, const std::vector<index>& middles,
                                       index middle) {
        constexpr index longest = 16'384; // of one iteration of the loop
        std::vector<stretch> low, high;
        for (index i = 0; i < pieces; ++i) {
            const index m = middles[static_cast<std::size_t>(i)];
            if (const index end = std::min(from(i + 1), middle); m < end) low.push_back({m, end - m});
            if (const index begin = std::max(from(i), middle); begin < m) high.push_back({begin, m - begin});
        }
        std::vector<pair> pairs;
        for (auto l = low.begin(), h = high.begin(); l != low.end();) {
            const index length = std::min({l->length, h->length, longest});
            pairs.push_back({l->first, h->first, length});
            const auto pass = [length](auto& at) {
                at->first += length;
                if ((at->length -= length) == 0) ++at;
            };
            pass(l);
            pass(h);
        }
        return pairs;
    }

    void exchange(const std::vector<pair>& pairs) {
        parallel_for(std::size_t{0}, pairs.size(),
                     [&](std::size_t i) { keys_.swap(pairs[i].low, pairs[i].high, pairs[i].length); },
                     {.grain = 1});
    }

    const Keys keys_;
    const index workers_;
};

} // namespace weft::sort
