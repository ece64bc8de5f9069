#pragma once

#include <weft/impl/quicksort.hpp>
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

namespace weft::impl {

/// A NaN is greater than every number.
inline constexpr auto less_than = [](auto a, auto b) noexcept { return a < b || (a == a && b != b); };
inline constexpr auto greater_than = [](auto a, auto b) noexcept { return less_than(b, a); };

/// Elements that are cheap to copy: they are sorted themselves. Copies are sorted, so that a comparison that throws
/// loses none.
template <class I, class Less>
class small_elements {
    using T = std::iter_value_t<I>;

public:
    using slot = T;
    using look = const T*;
    using splitter = T;
    static constexpr std::ptrdiff_t bucket_length = 1024; // some 20 us for numbers

    small_elements(I first, Less& less) : first_(first), less_(&less) {}

    look look_at(std::ptrdiff_t i) const { return std::addressof(first_[i]); }
    static look look_of(const T& s) noexcept { return std::addressof(s); }
    splitter splitter_of(std::ptrdiff_t i) const { return first_[i]; }
    bool before(const T& a, look b) const { return std::invoke(*less_, a, *b); }
    bool after(const T& a, look b) const { return std::invoke(*less_, *b, a); }
    bool is_before(std::ptrdiff_t i, std::ptrdiff_t j) const {
        return std::invoke(*less_, first_[i], first_[j]);
    }
    void sort_sample(std::vector<T>& sample) const { sort(sample.begin(), sample.end()); }

    void take(std::ptrdiff_t i, slot* to) const noexcept { ::new (static_cast<void*>(to)) T(first_[i]); }
    void put_back(const slot* begin, const slot* end, std::ptrdiff_t at) const noexcept {
        std::copy(begin, end, first_ + at);
    }
    void finish(const slot* begin, const slot* end, std::ptrdiff_t at) const {
        put_back(begin, end, at);
        const I to = first_ + at;
        try {
            sort(to, to + (end - begin));
        } catch (...) {
            put_back(begin, end, at);
            throw;
        }
    }
    void sort_in_place(std::ptrdiff_t n) const {
        if constexpr (std::is_nothrow_invocable_v<Less&, T&, T&>) {
            sort(first_, first_ + n);
        } else {
            const raw_memory<T> kept(static_cast<std::size_t>(n));
            std::uninitialized_copy(first_, first_ + n, kept.data());
            finish(kept.data(), kept.data() + n, 0);
        }
    }

private:
    template <class Iterator>
    void sort(Iterator begin, Iterator end) const {
        const auto before = [less = less_](const T& a, const T& b) -> bool {
            return std::invoke(*less, a, b);
        };
        quicksort<Iterator, decltype(before)>{before}(begin, end);
    }

    I first_;
    Less* less_;
};

/// Elements of any other type. Their addresses are sorted, so a comparison that throws loses none, and each
/// element is moved once to its place.
template <class I, class Less>
class any_elements {
    using T = std::iter_value_t<I>;

public:
    using slot = T;
    using look = const T*;
    using splitter = T*; // elements stay while there are splitters
    static constexpr std::ptrdiff_t bucket_length = 1024;

    any_elements(I first, Less& less) : first_(first), less_(&less) {}

    look look_at(std::ptrdiff_t i) const { return std::addressof(first_[i]); }
    static look look_of(splitter s) noexcept { return s; }
    splitter splitter_of(std::ptrdiff_t i) const { return std::addressof(first_[i]); }
    bool before(const T* a, look b) const { return std::invoke(*less_, *a, *b); }
    bool after(const T* a, look b) const { return std::invoke(*less_, *b, *a); }
    bool is_before(std::ptrdiff_t i, std::ptrdiff_t j) const {
        return std::invoke(*less_, first_[i], first_[j]);
    }
    void sort_sample(std::vector<T*>& sample) const { sort(sample); }

    void take(std::ptrdiff_t i, slot* to) const noexcept {
        ::new (static_cast<void*>(to)) T(std::move(first_[i]));
    }
    void put_back(slot* begin, slot* end, std::ptrdiff_t at) const noexcept {
        std::move(begin, end, first_ + at);
        std::destroy(begin, end);
    }
    void finish(slot* begin, slot* end, std::ptrdiff_t at) const {
        try {
            std::vector<T*> order(static_cast<std::size_t>(end - begin));
            std::iota(order.begin(), order.end(), begin);
            sort(order);
            I to = first_ + at;
            for (T* const from : order) *to++ = std::move(*from);
        } catch (...) {
            put_back(begin, end, at);
            throw;
        }
        std::destroy(begin, end);
    }
    void sort_in_place(std::ptrdiff_t n) const {
        const raw_memory<T> slots(static_cast<std::size_t>(n));
        for (std::ptrdiff_t i = 0; i < n; ++i) take(i, slots.data() + i);
        finish(slots.data(), slots.data() + n, 0);
    }

private:
    void sort(std::vector<T*>& order) const {
        const auto before = [less = less_](const T* a, const T* b) -> bool {
            return std::invoke(*less, *a, *b);
        };
        quicksort<T**, decltype(before)>{before}(order.data(), order.data() + order.size());
    }

    I first_;
    Less* less_;
};

/// Larger ones are moved less if their addresses are sorted. A std::vector<bool> has no elements to point at.
template <class T>
concept SmallElement =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T> &&
    sizeof(T) <= 4 * sizeof(void*) && !std::same_as<T, bool>;

/// Element order[i] becomes element i, one cycle after the other; `order` is used up.
template <class I>
void permute(I first, std::vector<std::ptrdiff_t>& order) {
    const auto next = [&](std::ptrdiff_t at) {
        return std::exchange(order[static_cast<std::size_t>(at)], at);
    };
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(order.size()); ++i) {
        std::ptrdiff_t hole = i, from = next(i);
        if (from == i) continue;
        std::iter_value_t<I> kept(std::move(first[i]));
        for (; from != i; hole = std::exchange(from, next(from))) first[hole] = std::move(first[from]);
        first[hole] = std::move(kept);
    }
}

template <class I, class Less>
void sort_elements(I first, std::ptrdiff_t n, Less& less) {
    using T = std::iter_value_t<I>;
    if constexpr (SmallElement<T> ||
                  (std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>)) {
        using elements = std::conditional_t<SmallElement<T>, small_elements<I, Less>, any_elements<I, Less>>;
        elements all(first, less);
        if (n < 4 * all.bucket_length) return all.sort_in_place(n);
        on_worker({}, [&] { sample_sort(all, n).run(); });
    } else { // what moves may not throw: sort where the elements are, and move once
        std::vector<std::ptrdiff_t> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), std::ptrdiff_t{0});
        const auto ordered = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
            return static_cast<bool>(std::invoke(less, first[i], first[j]));
        };
        sort_elements(order.begin(), n, ordered);
        permute(first, order);
    }
}

} // namespace weft::impl
