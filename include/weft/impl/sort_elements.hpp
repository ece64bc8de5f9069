#pragma once

#include <weft/impl/sample_sort.hpp>
#include <weft/parallel.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/sort/pdqsort/pdqsort.hpp>

namespace weft::impl {

/// What is not a number is greater than every number.
struct less_number {
    template <class T>
    constexpr bool operator()(T a, T b) const noexcept {
        return a < b || (a == a && b != b);
    }
};
struct greater_number {
    template <class T>
    constexpr bool operator()(T a, T b) const noexcept {
        return less_number{}(b, a);
    }
};

/// pdqsort; without branches where that takes little: trivial elements seldom have a costly comparison. If
/// `less` throws, an element may be lost.
template <class I, class Less>
void quicksort(I first, I last, Less& less) {
    const auto ordered = [&less](auto& a, auto& b) -> bool { return std::invoke(less, a, b); };
    if constexpr (std::is_trivially_copyable_v<std::iter_value_t<I>>)
        boost::sort::pdqsort_branchless(first, last, ordered);
    else
        boost::sort::pdqsort(first, last, ordered);
}

/// Elements in any memory, under any comparison. Comparisons that throw lose none: either the sorted ones are
/// trivial copies, or what is sorted is their addresses.
template <class I, class Less>
class any_elements {
    using T = std::iter_value_t<I>;
    static constexpr bool trivial =
        std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;
    static constexpr bool copied = trivial && sizeof(T) <= 4 * sizeof(void*);
    static const T& element(const T& e) noexcept { return e; }
    static const T& element(const T* e) noexcept { return *e; }

public:
    using slot = T;
    using look = const T*;
    using splitter = std::conditional_t<copied, T, const T*>; ///< as long as elements stay where they are
    static constexpr std::ptrdiff_t bucket_length = 1024;     ///< some 30 us for numbers

    any_elements(I first, Less& less) : first_(first), less_(less) {}

    look look_at(std::ptrdiff_t i) const { return std::addressof(first_[i]); }
    splitter splitter_of(std::ptrdiff_t i) const {
        if constexpr (copied)
            return first_[i];
        else
            return std::addressof(first_[i]);
    }
    bool before(const splitter& a, look b) const { return std::invoke(less_, element(a), *b); }
    bool after(const splitter& a, look b) const { return std::invoke(less_, *b, element(a)); }
    bool is_before(std::ptrdiff_t i, std::ptrdiff_t j) const {
        return std::invoke(less_, first_[i], first_[j]);
    }
    template <class Index>
    void sort_sample(Index begin, Index end) const {
        const auto ordered = [this](std::ptrdiff_t i, std::ptrdiff_t j) { return is_before(i, j); };
        boost::sort::pdqsort(begin, end, ordered);
    }

    void take(std::ptrdiff_t i, slot* to) const noexcept {
        ::new (static_cast<void*>(to)) T(std::move(first_[i]));
    }
    void put_back(slot* begin, slot* end, std::ptrdiff_t at) const noexcept {
        std::move(begin, end, first_ + at);
        std::destroy(begin, end);
    }
    void finish(slot* begin, slot* end, std::ptrdiff_t at) const {
        if constexpr (trivial)
            finish_copies(begin, end, at);
        else
            finish_by_address(begin, end, at);
    }

    void sort_in_place(std::ptrdiff_t n) const {
        if constexpr (std::is_nothrow_invocable_v<Less&, T&, T&>)
            quicksort(first_, first_ + n, less_);
        else if constexpr (trivial) {
            const std::vector<T> kept(first_, first_ + n);
            try {
                quicksort(first_, first_ + n, less_);
            } catch (...) {
                std::copy(kept.begin(), kept.end(), first_);
                throw;
            }
        } else {
            std::vector<std::ptrdiff_t> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), std::ptrdiff_t{0});
            sort_sample(order.begin(), order.end());
            permute(order);
        }
    }

    /// Element order[i] becomes element i, one cycle after the other; `order` is used up.
    void permute(std::vector<std::ptrdiff_t>& order) const {
        const auto n = static_cast<std::ptrdiff_t>(order.size());
        for (std::ptrdiff_t i = 0; i < n; ++i) {
            const auto next = [&](std::ptrdiff_t at) {
                return std::exchange(order[static_cast<std::size_t>(at)], at);
            };
            std::ptrdiff_t hole = i, from = next(i);
            if (from == i) continue;
            T kept(std::move(first_[i]));
            for (; from != i; hole = std::exchange(from, next(from))) first_[hole] = std::move(first_[from]);
            first_[hole] = std::move(kept);
        }
    }

private:
    void finish_copies(slot* begin, slot* end, std::ptrdiff_t at) const {
        const I to = first_ + at;
        std::copy(begin, end, to);
        try {
            quicksort(to, to + (end - begin), less_);
        } catch (...) {
            std::copy(begin, end, to);
            throw;
        }
    }
    void finish_by_address(slot* begin, slot* end, std::ptrdiff_t at) const {
        try {
            std::vector<T*> order(static_cast<std::size_t>(end - begin));
            std::iota(order.begin(), order.end(), begin);
            const auto ordered = [this](T* a, T* b) { return std::invoke(less_, *a, *b); };
            boost::sort::pdqsort(order.begin(), order.end(), ordered);
            I to = first_ + at;
            for (T* const from : order) *to++ = std::move(*from);
        } catch (...) {
            put_back(begin, end, at);
            throw;
        }
        std::destroy(begin, end);
    }

    I first_;
    Less& less_;
};

template <class I, class Less>
void sort_elements(I first, std::ptrdiff_t n, Less less) {
    using T = std::iter_value_t<I>;
    any_elements<I, Less> all(first, less);
    if (n < 4 * all.bucket_length) return all.sort_in_place(n);
    if constexpr (std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>) {
        on_worker([&] { sample_sort(all, n).run(); });
    } else { // what moves may not throw: sort where the elements are, and move once
        std::vector<std::ptrdiff_t> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), std::ptrdiff_t{0});
        sort_elements(order.begin(), n,
                      [&](std::ptrdiff_t i, std::ptrdiff_t j) { return all.is_before(i, j); });
        all.permute(order);
    }
}

} // namespace weft::impl
