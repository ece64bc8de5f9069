// fib without cut-off in several forms. A fork with nothing in it: what is measured is the fork.
#pragma once

#include <weft/weft.hpp>

#include <cstdint>

// The compiler's freedom is part of the measurement: with WEFT_BENCH_NOINLINE each call is one. The serial
// program is measured both ways: fib_serial is never inlined, fib_serial_free if the others may be.
#ifdef WEFT_BENCH_NOINLINE
#    define WEFT_BENCH_FORM [[gnu::noinline]]
#else
#    define WEFT_BENCH_FORM
#endif

namespace bench {

// The serial program as one would write it. GCC makes a loop of the second call.
[[gnu::noinline]] inline std::uint64_t fib_serial(unsigned n) {
    if (n < 2) return n;
    return fib_serial(n - 1) + fib_serial(n - 2);
}

WEFT_BENCH_FORM inline std::uint64_t fib_serial_free(unsigned n) {
    if (n < 2) return n;
    return fib_serial_free(n - 1) + fib_serial_free(n - 2);
}

// The same with two real calls, which is the least that a program has whose second call may be run elsewhere.
WEFT_BENCH_FORM inline std::uint64_t fib_calls(unsigned n) {
    if (n < 2) return n;
    const std::uint64_t a = fib_calls(n - 1);
    std::uint64_t b = fib_calls(n - 2);
    asm volatile("" : "+r"(b));
    return a + b;
}

WEFT_BENCH_FORM inline std::uint64_t fib_plain(unsigned n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib_plain(n - 1); }, [=] { return fib_plain(n - 2); });
    return a + b;
}

// As people write it whose closures have names and take what they need by reference.
WEFT_BENCH_FORM inline std::uint64_t fib_lvalues(unsigned n) {
    if (n < 2) return n;
    auto first = [&] { return fib_lvalues(n - 1); };
    auto second = [&] { return fib_lvalues(n - 2); };
    auto [a, b] = weft::join(first, second);
    return a + b;
}

WEFT_BENCH_FORM inline std::uint64_t fib_context(weft::context here, unsigned n) {
    if (n < 2) return n;
    auto [a, b] = weft::join(
        here, [=](weft::context child) { return fib_context(child, n - 1); },
        [=](weft::context child) { return fib_context(child, n - 2); });
    return a + b;
}

inline std::uint64_t fib_by_iteration(unsigned n) {
    std::uint64_t a = 0, b = 1;
    for (; n > 0; --n) {
        const std::uint64_t next = a + b;
        a = b;
        b = next;
    }
    return a;
}

/// Forks of fib(n): fib(35) has 14,930,351.
inline double fib_forks(unsigned n) { return static_cast<double>(fib_by_iteration(n + 1) - 1); }

} // namespace bench
