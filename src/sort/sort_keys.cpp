// Numbers are sorted as unsigned keys: a bijection that is monotone in the wanted order, applied on the way
// to the buffer and undone on the way back. So vqsort sees unsigned ascending keys only. That is more than a
// saving: Highway 1.0.3 changes zeros of different sign into one another, loses what is not a number, and may
// then leave the array.
#include <weft/impl/sample_sort.hpp>
#include <weft/impl/sort_keys.hpp>

#include "sort/vector_sort.hpp"

#include <cstring>
#include <vector>

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

template <class Mapping>
class keyed_numbers {
public:
    using key = typename Mapping::key;
    using slot = key;
    using look = key;
    using splitter = key;
    static constexpr std::ptrdiff_t bucket_length = 16'384; // 50 us

    keyed_numbers(void* numbers, key_format f) noexcept
        : numbers_(static_cast<std::byte*>(numbers))
        , mapping_(f) {}

    /// The numbers of the range may be of any type of this size, so they are read and written as bytes.
    key look_at(std::ptrdiff_t i) const noexcept {
        key bits;
        std::memcpy(&bits, place(i), sizeof bits);
        return mapping_.key_of(bits);
    }
    key splitter_of(std::ptrdiff_t i) const noexcept { return look_at(i); }
    static bool before(key a, key b) noexcept { return a < b; }
    static bool after(key a, key b) noexcept { return b < a; }
    bool is_before(std::ptrdiff_t i, std::ptrdiff_t j) const noexcept { return look_at(i) < look_at(j); }
    static key look_of(key k) noexcept { return k; }
    static void sort_sample(std::vector<key>& sample) noexcept {
        sort::sort_vectorised(sample.data(), sample.size());
    }

    void take(std::ptrdiff_t i, slot* to) const noexcept { *to = look_at(i); }
    void put_back(const slot* first, const slot* last, std::ptrdiff_t at) const noexcept {
        for (; first != last; ++first, ++at) {
            const key bits = mapping_.bits_of(*first);
            std::memcpy(place(at), &bits, sizeof bits);
        }
    }
    void finish(slot* first, slot* last, std::ptrdiff_t at) const noexcept {
        sort::sort_vectorised(first, static_cast<std::size_t>(last - first));
        put_back(first, last, at);
    }

    void sort_in_place(std::ptrdiff_t n) const noexcept {
        auto* const keys = reinterpret_cast<key*>(numbers_);
        if (!mapping_.is_identity())
            for (std::ptrdiff_t i = 0; i < n; ++i) {
                const key k = look_at(i);
                std::memcpy(place(i), &k, sizeof k);
            }
        sort::sort_vectorised(keys, static_cast<std::size_t>(n));
        if (!mapping_.is_identity()) put_back(keys, keys + n, 0);
    }

private:
    std::byte* place(std::ptrdiff_t i) const noexcept {
        return numbers_ + i * static_cast<std::ptrdiff_t>(sizeof(key));
    }

    std::byte* numbers_;
    Mapping mapping_;
};

template <class Mapping>
void sort_mapped(void* numbers, std::size_t size, key_format f) {
    keyed_numbers<Mapping> all(numbers, f);
    const auto n = static_cast<std::ptrdiff_t>(size);
    if (n < 4 * all.bucket_length) return all.sort_in_place(n);
    on_worker([&] {
        // Equal numbers are indistinguishable, so the cuts may depend on the number of workers.
        constexpr std::ptrdiff_t buckets_a_worker =
            8; // a step of the classification costs what vqsort's does
        const std::ptrdiff_t workers = shape_of_loop().workers;
        if (workers == 1)
            all.sort_in_place(n);
        else
            sample_sort(all, n, buckets_a_worker * workers).run();
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
