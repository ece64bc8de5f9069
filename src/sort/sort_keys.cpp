// Numbers are sorted as unsigned keys: a bijection that is monotone in the wanted order, applied before vqsort
// gets the numbers and undone after it. So vqsort sees unsigned ascending keys only. That is more than a
// saving: Highway 1.0.3 changes zeros of different sign into one another, loses what is not a number, and may
// then leave the array.
#include <weft/impl/entry.hpp>
#include <weft/impl/sort_keys.hpp>

#include "sort/in_place.hpp"
#include "sort/vector_sort.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::impl {
namespace {

/// Integers: the sign bit turned over puts negative ones first, all bits turned over reverse the order.
template <class Key>
class integer_keys {
public:
    using key = Key;
    explicit integer_keys(key_format f) noexcept
        : flip_(static_cast<Key>((f.kind == key_kind::integer ? Key{1} << (8 * sizeof(Key) - 1) : 0U) ^
                                 (f.descending ? static_cast<Key>(~Key{0}) : 0U))) {}
    bool is_identity() const noexcept { return flip_ == 0; }
    Key key_of(Key bits) const noexcept { return static_cast<Key>(bits ^ flip_); }
    Key bits_of(Key k) const noexcept { return static_cast<Key>(k ^ flip_); }

private:
    Key flip_;
};

/// IEEE 754: the bits of numbers without sign are in their order, with it in the reverse. What is not a
/// number lies beyond the infinities; a rotation brings those with a sign to the end, behind the others.
template <class Key>
class real_keys {
public:
    using key = Key;
    explicit real_keys(key_format f) noexcept : flip_(f.descending ? ~Key{0} : Key{0}) {}
    static constexpr bool is_identity() noexcept { return false; }
    Key key_of(Key bits) const noexcept {
        return ((bits ^ (bits & sign ? ~Key{0} : sign)) - with_sign) ^ flip_;
    }
    Key bits_of(Key k) const noexcept {
        const Key rotated = (k ^ flip_) + with_sign;
        return rotated ^ (rotated & sign ? sign : ~Key{0});
    }

private:
    static constexpr int mantissa = sizeof(Key) == 4 ? 23 : 52;
    static constexpr Key sign = Key{1} << (8 * sizeof(Key) - 1);
    static constexpr Key with_sign = (Key{1} << mantissa) - 1; ///< that many are not numbers, and negative
    Key flip_;
};

/// The numbers of the range may be of any type of this size, so they are read and written as bytes.
template <class Mapping>
class keyed_numbers {
public:
    using key = typename Mapping::key;
    static constexpr std::ptrdiff_t leaf_length = 16'384; // 50 us

    keyed_numbers(void* numbers, key_format f) noexcept
        : numbers_(static_cast<std::byte*>(numbers))
        , mapping_(f) {}

    key key_at(std::ptrdiff_t i) const noexcept { return mapping_.key_of(bits_at(i)); }

    /// Lomuto's partition, without a branch that depends on a key.
    std::ptrdiff_t partition(std::ptrdiff_t first, std::ptrdiff_t last, key pivot) const noexcept {
        std::ptrdiff_t middle = first;
        for (std::ptrdiff_t i = first; i < last; ++i) {
            const key bits = bits_at(i);
            put(i, bits_at(middle));
            put(middle, bits);
            middle += static_cast<std::ptrdiff_t>(mapping_.key_of(bits) < pivot);
        }
        return middle;
    }
    void swap(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t n) const noexcept {
        std::swap_ranges(place(i), place(i + n), place(j));
    }
    void sort_leaf(std::ptrdiff_t first, std::ptrdiff_t last) const noexcept {
        if (!mapping_.is_identity())
            for (std::ptrdiff_t i = first; i < last; ++i) put(i, key_at(i));
        auto* const keys = reinterpret_cast<key*>(place(first));
        sort::sort_vectorised(keys, static_cast<std::size_t>(last - first));
        if (!mapping_.is_identity())
            for (std::ptrdiff_t i = first; i < last; ++i) put(i, mapping_.bits_of(bits_at(i)));
    }

private:
    std::byte* place(std::ptrdiff_t i) const noexcept {
        return numbers_ + i * static_cast<std::ptrdiff_t>(sizeof(key));
    }
    key bits_at(std::ptrdiff_t i) const noexcept {
        key bits;
        std::memcpy(&bits, place(i), sizeof bits);
        return bits;
    }
    void put(std::ptrdiff_t i, key bits) const noexcept { std::memcpy(place(i), &bits, sizeof bits); }

    std::byte* numbers_;
    Mapping mapping_;
};

template <class Mapping>
void sort_mapped(void* numbers, std::size_t size, key_format f) {
    const keyed_numbers<Mapping> all(numbers, f);
    const auto n = static_cast<std::ptrdiff_t>(size);
    if (n < 4 * all.leaf_length) return all.sort_leaf(0, n);
    on_worker({}, [&] {
        const std::ptrdiff_t workers = shape_of_loop().workers;
        if (workers == 1) return all.sort_leaf(0, n);
        // Equal numbers are indistinguishable, so the cuts may depend on the number of workers.
        sort::parallel_quicksort(all, workers).sort(n);
    });
}

} // namespace

void sort_keys(void* numbers, std::size_t n, key_format f) {
    const bool real = f.kind == key_kind::real;
    switch (f.bytes) {
    case 2: return sort_mapped<integer_keys<std::uint16_t>>(numbers, n, f);
    case 4:
        return real ? sort_mapped<real_keys<std::uint32_t>>(numbers, n, f)
                    : sort_mapped<integer_keys<std::uint32_t>>(numbers, n, f);
    default:
        return real ? sort_mapped<real_keys<std::uint64_t>>(numbers, n, f)
                    : sort_mapped<integer_keys<std::uint64_t>>(numbers, n, f);
    }
}

} // namespace weft::impl
