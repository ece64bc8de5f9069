#pragma once

#include <weft/concepts.hpp>
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

/// Sorts [first, last) so that no element is less than the one before it. The sort is not stable, but equal
/// elements are in the same order for every number of workers, every policy and every run. O(n log n)
/// comparisons; O(n) for a range that is sorted or has few different elements. In a thread that is no worker,
/// it runs in the default runtime. The caller sorts a short range itself.
///
/// `less` is a strict weak ordering. Several threads call it at the same time, with const elements. If it
/// throws, the exception is rethrown when all calls have ended; the range then has all its elements, in an
/// unspecified order. Elements are moved, and copied only if they are trivially copyable. Elements whose move
/// may throw are moved by one thread, and may be lost if a move throws. The sort needs a buffer of n elements
/// and n bytes; it throws std::bad_alloc if there is no memory, and the range then has all its elements.
///
/// By std::less or std::greater, a NaN counts as greater than all numbers; contiguous floats and doubles are
/// also ordered -0 before 0. Such arrays, and those of integers of 2, 4 or 8 bytes, are sorted in place by vector
/// instructions, without a buffer.
///
/// Sources: super scalar sample sort, Sanders and Winkel 2004; parallel quicksort, Francis and Pannan 1992; vqsort,
/// Blacher, Giesen, Sanders and Wassenberg 2021, in Highway.
template <std::random_access_iterator I, class Less = std::less<>>
    requires std::is_lvalue_reference_v<std::iter_reference_t<I>> && Ordering<Less, std::iter_value_t<I>>
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

/// @cond
template <std::random_access_iterator I, class Less = std::less<>>
    requires(!Ordering<Less, std::iter_value_t<I>>)
impl::not_a::Ordering parallel_sort(I, I, Less = {}) WEFT_REJECTED(
    "Ordering: less is called with two const elements, and tells whether the first one comes first");
/// @endcond

} // namespace weft
