#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <type_traits>

namespace weft::impl {

enum class key_kind : std::uint8_t { natural, integer, real };

/// Numbers in memory that the library sorts without knowing their C++ type.
struct key_format {
    int bytes; ///< 2, 4 or 8
    key_kind kind;
    bool descending;
};

/// Sorts n numbers, on a worker or not. Real numbers are in the order of the keys that their bits map to:
/// -infinity ... -0, 0 ... infinity, then NaNs. Throws std::bad_alloc; then all are there, in some order.
void sort_keys(void* numbers, std::size_t n, key_format format);

template <class Less, class T>
inline constexpr bool is_less = std::is_same_v<Less, std::less<T>> || std::is_same_v<Less, std::less<>> ||
                                std::is_same_v<Less, std::ranges::less>;
template <class Less, class T>
inline constexpr bool is_greater =
    std::is_same_v<Less, std::greater<T>> || std::is_same_v<Less, std::greater<>> ||
    std::is_same_v<Less, std::ranges::greater>;

/// The ranges that sort_keys takes: contiguous numbers in their natural order.
template <class T>
concept SortableKey =
    (std::integral<T> && !std::same_as<T, bool> && (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8)) ||
    (std::floating_point<T> && std::numeric_limits<T>::is_iec559 && (sizeof(T) == 4 || sizeof(T) == 8));
template <class I, class Less>
concept SortableAsKeys = std::contiguous_iterator<I> && SortableKey<std::iter_value_t<I>> &&
                         (is_less<Less, std::iter_value_t<I>> || is_greater<Less, std::iter_value_t<I>>);

template <SortableKey T, class Less>
inline constexpr key_format format_of{
    .bytes = sizeof(T),
    .kind = std::floating_point<T> ? key_kind::real
            : std::is_signed_v<T>  ? key_kind::integer
                                   : key_kind::natural,
    .descending = is_greater<Less, T>,
};

} // namespace weft::impl
