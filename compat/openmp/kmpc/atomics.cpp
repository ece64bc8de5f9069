#include "kmpc/atomic_change.hpp"
#include "kmpc/kmpc.hpp"

#include <cstdint>
#include <type_traits>

/// __kmpc_atomic_*: what compilers call that do not make the instructions themselves (Intel's; clang does). A name says the type of the
/// variable, the operation and the form:
///
///     fixed4_add         *at = *at + given
///     fixed4_sub_rev     *at = given - *at
///     fixed4_add_cpt     the same, and returns the value after it (the last argument is not 0), or before it
///     fixed4_rd, _wr, _swp     read, write, exchange
///     float4_add_float8        the value has another type than the variable
using namespace weft::openmp;
using namespace weft::openmp::kmpc;

namespace {

__extension__ using complex4 = __complex__ float;
__extension__ using complex8 = __complex__ double;
__extension__ using complex10 = __complex__ long double;

/// Integers are added modulo 2^64, whose low bits are those of the type.
template <class T, class U>
constexpr bool are_integers = std::is_integral_v<T> && std::is_integral_v<U>;
constexpr std::uint64_t wide(auto n) noexcept { return static_cast<std::uint64_t>(n); }

namespace by {

/// An integer meets a floating-point number as one.
template <class U, class T>
auto operand(T a) noexcept {
    if constexpr (std::is_integral_v<T> && !std::is_integral_v<U>)
        return static_cast<U>(a);
    else
        return a;
}

struct add {
    template <class T, class U>
    static T of(T a, U b) noexcept {
        if constexpr (are_integers<T, U>)
            return static_cast<T>(wide(a) + wide(b));
        else
            return static_cast<T>(a + b);
    }
};
struct sub {
    template <class T, class U>
    static T of(T a, U b) noexcept {
        if constexpr (are_integers<T, U>)
            return static_cast<T>(wide(a) - wide(b));
        else
            return static_cast<T>(a - b);
    }
};
struct mul {
    template <class T, class U>
    static T of(T a, U b) noexcept {
        if constexpr (are_integers<T, U>)
            return static_cast<T>(wide(a) * wide(b));
        else
            return static_cast<T>(operand<U>(a) * b);
    }
};
struct div {
    template <class T, class U>
    static T of(T a, U b) noexcept {
        return static_cast<T>(operand<U>(a) / b);
    }
};
struct andb {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a & b);
    }
};
struct orb {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a | b);
    }
};
struct exclusive_or {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a ^ b);
    }
};
struct eqv {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a ^ ~b);
    }
};
struct andl {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a && b);
    }
};
struct orl {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a || b);
    }
};
/// Shifts count modulo the width of the promoted type, as the instructions of x86 do.
template <class T>
constexpr T shift_mask = static_cast<T>(sizeof(decltype(+T{})) * 8 - 1);
struct shl {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(wide(a) << (b & shift_mask<T>));
    }
};
struct shr {
    template <class T>
    static T of(T a, T b) noexcept {
        return static_cast<T>(a >> (b & shift_mask<T>));
    }
};
struct min {
    template <class T>
    static T of(T a, T b) noexcept {
        return b < a ? b : a;
    }
};
struct max {
    template <class T>
    static T of(T a, T b) noexcept {
        return a < b ? b : a;
    }
};
struct assign {
    template <class T>
    static T of(T, T b) noexcept {
        return b;
    }
};
template <class Operation>
struct reversed {
    template <class T>
    static T of(T a, T b) noexcept {
        return Operation::of(b, a);
    }
};

} // namespace by

template <class Operation, class T, class U>
changed<T> apply(T* at, U given) {
    return change(at, [given](T before) { return Operation::of(before, given); });
}
template <class T>
T read(T* at) {
    if constexpr (sizeof(T) > sizeof(std::uint64_t))
        return change(at, [](T before) { return before; }).before;
    else { // the program may have made the page read-only
        const auto w = __atomic_load_n(reinterpret_cast<word_of<sizeof(T)>*>(at), __ATOMIC_SEQ_CST);
        T value;
        std::memcpy(&value, &w, sizeof value);
        return value;
    }
}
template <class T>
T pick(const changed<T>& c, int wants_new) noexcept {
    return wants_new ? c.after : c.before;
}

/// *at = f(*at, given), for any type of that size. `f(result, a, b)`.
using combine = void (*)(void*, void*, void*);
template <std::size_t Bytes>
void combine_at(void* at, void* given, combine f) {
    if constexpr (Bytes <= sizeof(std::uint64_t)) {
        using word = word_of<Bytes>;
        change(static_cast<word*>(at), [&](word before) {
            word after = 0;
            f(&after, &before, given);
            return after;
        });
    } else {
        acquire(lock_of(at));
        f(at, at, given);
        release(lock_of(at));
    }
}

/// True if it was as expected, and is now as desired. `before`: what was there.
template <class T>
bool exchange_if(T* at, T expected, T desired, T& before) noexcept {
    before = expected;
    return __atomic_compare_exchange_n(at, &before, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

constinit lock_word for_blocks{0};

} // namespace

extern "C" {

// A block of the program that is to be atomic.
void __kmpc_atomic_start() { acquire(for_blocks); }
void __kmpc_atomic_end() { release(for_blocks); }

#define WEFT_UPDATE(name, T, U, operation)                                                                   \
    void __kmpc_atomic_##name(location*, gtid, T* at, U given) { apply<by::operation>(at, given); }
#define WEFT_CAPTURE(name, T, operation)                                                                     \
    T __kmpc_atomic_##name(location*, gtid, T* at, T given, int wants_new) {                                 \
        return pick(apply<by::operation>(at, given), wants_new);                                             \
    }
#define WEFT_BOTH(type, T, name, operation)                                                                  \
    WEFT_UPDATE(type##_##name, T, T, operation)                                                              \
    WEFT_CAPTURE(type##_##name##_cpt, T, operation)
/// The operation in both directions.
#define WEFT_ORDERED(type, T, operation)                                                                     \
    WEFT_BOTH(type, T, operation, operation)                                                                 \
    WEFT_UPDATE(type##_##operation##_rev, T, T, reversed<by::operation>)                                     \
    WEFT_CAPTURE(type##_##operation##_cpt_rev, T, reversed<by::operation>)
#define WEFT_ACCESS(type, T)                                                                                 \
    T __kmpc_atomic_##type##_rd(location*, gtid, T* at) { return read(at); }                                 \
    WEFT_UPDATE(type##_wr, T, T, assign)
#define WEFT_EXCHANGE(type, T)                                                                               \
    T __kmpc_atomic_##type##_swp(location*, gtid, T* at, T given) {                                          \
        return apply<by::assign>(at, given).before;                                                          \
    }

#define WEFT_NUMBER(type, T)                                                                                 \
    WEFT_ACCESS(type, T)                                                                                     \
    WEFT_EXCHANGE(type, T)                                                                                   \
    WEFT_BOTH(type, T, add, add)                                                                             \
    WEFT_BOTH(type, T, mul, mul)                                                                             \
    WEFT_BOTH(type, T, min, min)                                                                             \
    WEFT_BOTH(type, T, max, max)                                                                             \
    WEFT_ORDERED(type, T, sub)                                                                               \
    WEFT_ORDERED(type, T, div)

#define WEFT_INTEGER(bytes, T, U)                                                                                  \
    WEFT_NUMBER(fixed##bytes, T)                                                                                   \
    WEFT_BOTH(fixed##bytes, T, andb, andb)                                                                         \
    WEFT_BOTH(fixed##bytes, T, orb, orb)                                                                           \
    WEFT_BOTH(fixed##bytes, T, xor, exclusive_or)                                                                  \
    WEFT_BOTH(fixed##bytes, T, neqv, exclusive_or)                                                                 \
    WEFT_BOTH(fixed##bytes, T, eqv, eqv)                                                                           \
    WEFT_BOTH(fixed##bytes, T, andl, andl)                                                                         \
    WEFT_BOTH(fixed##bytes, T, orl, orl)                                                                           \
    WEFT_ORDERED(fixed##bytes, T, shl)                                                                             \
    WEFT_ORDERED(fixed##bytes, T, shr)                                                                             \
    WEFT_ORDERED(fixed##bytes##u, U, div)                                                                          \
    WEFT_ORDERED(fixed##bytes##u, U, shr)                                                                          \
    WEFT_UPDATE(fixed##bytes##_mul_float8, T, double, mul)                                                         \
    WEFT_UPDATE(fixed##bytes##_div_float8, T, double, div)                                                         \
    void __kmpc_atomic_##bytes(location*, gtid, void* at, void* given, combine f) {                                \
        combine_at<bytes>(at, given, f);                                                                           \
    }                                                                                                              \
    bool __kmpc_atomic_bool_##bytes##_cas(location*, gtid, T* at, T expected, T desired) {                         \
        T before;                                                                                                  \
        return exchange_if(at, expected, desired, before);                                                         \
    }                                                                                                              \
    T __kmpc_atomic_val_##bytes##_cas(location*, gtid, T* at, T expected, T desired) {                             \
        T before;                                                                                                  \
        exchange_if(at, expected, desired, before);                                                                \
        return before;                                                                                             \
    }                                                                                                              \
    /* Writes what was there if it was not the expected value; the second form always writes what is there now. */ \
    bool __kmpc_atomic_bool_##bytes##_cas_cpt(location*, gtid, T* at, T expected, T desired, T* found) {           \
        T before;                                                                                                  \
        if (exchange_if(at, expected, desired, before)) return true;                                               \
        *found = before;                                                                                           \
        return false;                                                                                              \
    }                                                                                                              \
    T __kmpc_atomic_val_##bytes##_cas_cpt(location*, gtid, T* at, T expected, T desired, T* found) {               \
        T before;                                                                                                  \
        *found = exchange_if(at, expected, desired, before) ? desired : before;                                    \
        return before;                                                                                             \
    }

WEFT_INTEGER(1, std::int8_t, std::uint8_t)
WEFT_INTEGER(2, std::int16_t, std::uint16_t)
WEFT_INTEGER(4, std::int32_t, std::uint32_t)
WEFT_INTEGER(8, std::int64_t, std::uint64_t)

WEFT_NUMBER(float4, float)
WEFT_NUMBER(float8, double)
WEFT_NUMBER(float10, long double)
WEFT_UPDATE(float4_add_float8, float, double, add)
WEFT_UPDATE(float4_sub_float8, float, double, sub)
WEFT_UPDATE(float4_mul_float8, float, double, mul)
WEFT_UPDATE(float4_div_float8, float, double, div)

#define WEFT_COMPLEX(type, T)                                                                                \
    WEFT_ACCESS(type, T)                                                                                     \
    WEFT_EXCHANGE(type, T)                                                                                   \
    WEFT_BOTH(type, T, add, add)                                                                             \
    WEFT_BOTH(type, T, mul, mul)                                                                             \
    WEFT_ORDERED(type, T, sub)                                                                               \
    WEFT_ORDERED(type, T, div)
WEFT_COMPLEX(cmplx8, complex8)
WEFT_COMPLEX(cmplx10, complex10)

// The captured value of the smallest complex type is written to memory, not returned.
#define WEFT_COMPLEX4(name, operation)                                                                       \
    void __kmpc_atomic_cmplx4_##name(location*, gtid, complex4* at, complex4 given, complex4* captured,      \
                                     int wants_new) {                                                        \
        *captured = pick(apply<by::operation>(at, given), wants_new);                                        \
    }
WEFT_ACCESS(cmplx4, complex4)
WEFT_UPDATE(cmplx4_add, complex4, complex4, add)
WEFT_UPDATE(cmplx4_sub, complex4, complex4, sub)
WEFT_UPDATE(cmplx4_mul, complex4, complex4, mul)
WEFT_UPDATE(cmplx4_div, complex4, complex4, div)
WEFT_UPDATE(cmplx4_sub_rev, complex4, complex4, reversed<by::sub>)
WEFT_UPDATE(cmplx4_div_rev, complex4, complex4, reversed<by::div>)
WEFT_COMPLEX4(add_cpt, add)
WEFT_COMPLEX4(sub_cpt, sub)
WEFT_COMPLEX4(mul_cpt, mul)
WEFT_COMPLEX4(div_cpt, div)
WEFT_COMPLEX4(sub_cpt_rev, reversed<by::sub>)
WEFT_COMPLEX4(div_cpt_rev, reversed<by::div>)
void __kmpc_atomic_cmplx4_swp(location*, gtid, complex4* at, complex4 given, complex4* before) {
    *before = apply<by::assign>(at, given).before;
}
WEFT_UPDATE(cmplx4_add_cmplx8, complex4, complex8, add)
WEFT_UPDATE(cmplx4_sub_cmplx8, complex4, complex8, sub)
WEFT_UPDATE(cmplx4_mul_cmplx8, complex4, complex8, mul)
WEFT_UPDATE(cmplx4_div_cmplx8, complex4, complex8, div)

#define WEFT_LARGE(bytes)                                                                                    \
    void __kmpc_atomic_##bytes(location*, gtid, void* at, void* given, combine f) {                          \
        combine_at<bytes>(at, given, f);                                                                     \
    }
WEFT_LARGE(10)
WEFT_LARGE(16)
WEFT_LARGE(20)
WEFT_LARGE(32)

} // extern "C"
