#pragma once

#include <weft/impl/sample_sort.hpp>
#include <weft/impl/sort_elements.hpp>
#include <weft/impl/sort_keys.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>

namespace weft {

/// Sorts [first, last) so that no element is less than the one before it. Not stable, but equal elements too
/// come in the same order for every number of workers, every policy and every run. O(n log n) comparisons,
/// O(n) for a range in order or of few different elements. In a thread that is no worker it runs in the
/// default runtime; a short range is sorted at once.
///
/// `less` is a strict weak ordering, called by several threads at the same time, with const elements. If it
/// throws, the exception is rethrown when nothing runs any more, and all elements are there, in some order.
/// Elements are moved, never copied unless that is trivial; those whose move may throw are moved by one
/// thread, and may be lost if one does. There is need for a buffer of n elements and n bytes: std::bad_alloc
/// if it cannot be had, with all elements there.
///
/// By std::less or std::greater, what is not a number counts as greater than all numbers; floats and doubles
/// that lie one after the other in memory are also ordered -0 before 0. Such arrays, and those of integers of
/// 2, 4 or 8 bytes, are sorted by vector instructions; everything else by a pattern-defeating quicksort.
/// Super scalar sample sort after Sanders and Winkel 2004; pdqsort by Peters, in Boost.Sort; vqsort after
/// Blacher, Giesen, Sanders and Wassenberg 2021, in Highway.
template <std::random_access_iterator I, class Less = std::less<>>
    requires std::is_lvalue_reference_v<std::iter_reference_t<I>> &&
             std::predicate<Less&, const std::iter_value_t<I>&, const std::iter_value_t<I>&>
void parallel_sort(I first, I last, Less less = {}) {
    using value = std::iter_value_t<I>;
    const std::ptrdiff_t n = last - first;
    if (n < 2) return;
    if constexpr (impl::SortableAsKeys<I, Less>)
        impl::sort_keys(std::to_address(first), static_cast<std::size_t>(n), impl::format_of<value, Less>);
    else if constexpr (std::floating_point<value> && impl::is_less<Less, value>)
        impl::sort_elements(first, n, impl::less_than);
    else if constexpr (std::floating_point<value> && impl::is_greater<Less, value>)
        impl::sort_elements(first, n, impl::greater_than);
    else
        impl::sort_elements(first, n, less);
}

} // namespace weft
