#pragma once

#include "runtime/locks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Changing a variable of the program atomically, whatever its type. Up to 8 bytes it is a compare-and-exchange; larger ones (long
/// double, complex numbers of double) are under a lock that is found by the address. All entry points for a type go through here, so
/// they exclude each other.
namespace weft::openmp::kmpc {

/// What was there, and what is there now.
template <class T>
struct changed {
    T before, after;
};

/// The lock of a variable that no single instruction changes.
inline lock_word& lock_of(const void* variable) noexcept {
    constexpr std::size_t log2_locks = 6;
    constexpr std::uint64_t golden = 0x9e37'79b9'7f4a'7c15; // 2^64 / the golden ratio: spreads addresses
    static constinit std::array<lock_word, std::size_t{1} << log2_locks> all{};
    return all[(reinterpret_cast<std::uintptr_t>(variable) * golden) >> (64 - log2_locks)];
}

template <std::size_t Bytes>
using word_of =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t,
                                          std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// Replaces `*at` by `f(*at)`. `f` may be called several times, and must not use OpenMP. Sequentially consistent, as the entry points of
/// libomp are.
template <class T, class F>
changed<T> change(T* at, F&& f) {
    changed<T> c;
    if constexpr (sizeof(T) <= sizeof(std::uint64_t)) {
        using word = word_of<sizeof(T)>;
        auto* const w = reinterpret_cast<word*>(at);
        word before = __atomic_load_n(w, __ATOMIC_RELAXED); // a guess; the exchange decides
        for (;;) {
            word after = 0;
            std::memcpy(&c.before, &before, sizeof(T));
            c.after = f(c.before);
            std::memcpy(&after, &c.after, sizeof(T));
            if (__atomic_compare_exchange_n(w, &before, after, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
                return c;
        }
    } else {
        acquire(lock_of(at));
        c.before = *at;
        c.after = f(c.before);
        *at = c.after;
        release(lock_of(at));
        return c;
    }
}

} // namespace weft::openmp::kmpc
