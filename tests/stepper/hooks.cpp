// What -fsanitize=thread makes of accesses to memory, with the stepper behind the atomic ones. The names and
// the memory orders' numbers are those of the interface between compilers and ThreadSanitizer's runtime.
#include "stepper.hpp"

#include <cstdint>

namespace {

enum access : std::uint32_t {
    load = 1,
    store,
    exchange,
    add,
    subtract,
    bit_and,
    bit_or,
    bit_xor,
    compare,
    fence
};

constexpr int strict = __ATOMIC_SEQ_CST;

} // namespace

#define WEFT_STEP(what) weft::stepper::step(what)

#define WEFT_ATOMIC(bits, type)                                                                              \
    type __tsan_atomic##bits##_load(const volatile type* at, int) {                                          \
        WEFT_STEP(load);                                                                                     \
        return __atomic_load_n(at, strict);                                                                  \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile type* at, type value, int) {                                   \
        WEFT_STEP(store);                                                                                    \
        __atomic_store_n(at, value, strict);                                                                 \
    }                                                                                                        \
    type __tsan_atomic##bits##_exchange(volatile type* at, type value, int) {                                \
        WEFT_STEP(exchange);                                                                                 \
        return __atomic_exchange_n(at, value, strict);                                                       \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_add(volatile type* at, type value, int) {                               \
        WEFT_STEP(add);                                                                                      \
        return __atomic_fetch_add(at, value, strict);                                                        \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_sub(volatile type* at, type value, int) {                               \
        WEFT_STEP(subtract);                                                                                 \
        return __atomic_fetch_sub(at, value, strict);                                                        \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_and(volatile type* at, type value, int) {                               \
        WEFT_STEP(bit_and);                                                                                  \
        return __atomic_fetch_and(at, value, strict);                                                        \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_or(volatile type* at, type value, int) {                                \
        WEFT_STEP(bit_or);                                                                                   \
        return __atomic_fetch_or(at, value, strict);                                                         \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_xor(volatile type* at, type value, int) {                               \
        WEFT_STEP(bit_xor);                                                                                  \
        return __atomic_fetch_xor(at, value, strict);                                                        \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type value, int,    \
                                                      int) {                                                 \
        WEFT_STEP(compare);                                                                                  \
        return __atomic_compare_exchange_n(at, expected, value, false, strict, strict);                      \
    }                                                                                                        \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type value, int,      \
                                                    int) {                                                   \
        WEFT_STEP(compare);                                                                                  \
        return __atomic_compare_exchange_n(at, expected, value, false, strict, strict);                      \
    }                                                                                                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type value, int,       \
                                                    int) {                                                   \
        WEFT_STEP(compare);                                                                                  \
        __atomic_compare_exchange_n(at, &expected, value, false, strict, strict);                            \
        return expected;                                                                                     \
    }

extern "C" {

WEFT_ATOMIC(8, std::uint8_t)
WEFT_ATOMIC(16, std::uint16_t)
WEFT_ATOMIC(32, std::uint32_t)
WEFT_ATOMIC(64, std::uint64_t)

void __tsan_atomic_thread_fence(int) { WEFT_STEP(fence); }
void __tsan_atomic_signal_fence(int) {}

// Plain accesses and calls are no steps.
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_read_range(void*, unsigned long) {}
void __tsan_write_range(void*, unsigned long) {}

#define WEFT_PLAIN(bytes)                                                                                    \
    void __tsan_read##bytes(void*) {}                                                                        \
    void __tsan_write##bytes(void*) {}                                                                       \
    void __tsan_unaligned_read##bytes(void*) {}                                                              \
    void __tsan_unaligned_write##bytes(void*) {}                                                             \
    void __tsan_volatile_read##bytes(void*) {}                                                               \
    void __tsan_volatile_write##bytes(void*) {}                                                              \
    void __tsan_unaligned_volatile_read##bytes(void*) {}                                                     \
    void __tsan_unaligned_volatile_write##bytes(void*) {}

WEFT_PLAIN(1)
WEFT_PLAIN(2)
WEFT_PLAIN(4)
WEFT_PLAIN(8)
WEFT_PLAIN(16)
}
