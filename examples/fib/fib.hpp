// Fibonacci numbers by the worst possible algorithm: all forks, no work, no cut-off. It measures what a
// fork costs.
#pragma once

#include <weft/weft.hpp>

#include <cstdint>

namespace examples {

// BEGIN-EXAMPLE fib
inline std::uint64_t fib(unsigned n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}
// END-EXAMPLE fib

// BEGIN-EXAMPLE fib-context
// The fastest form: the context is passed down instead of being looked up at every fork.
inline std::uint64_t fib(weft::context here, unsigned n) {
    if (n < 2) return n;
    auto [a, b] = weft::join(
        here, [=](weft::context child) { return fib(child, n - 1); },
        [=](weft::context child) { return fib(child, n - 2); });
    return a + b;
}
// END-EXAMPLE fib-context

// With hints: the first call is said to have twice the work of the second. The exact factor is the golden ratio.
inline std::uint64_t fib_with_hints(unsigned n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib_with_hints(n - 1); }, [=] { return fib_with_hints(n - 2); },
                             {{.work = 2}, {.work = 1}});
    return a + b;
}

inline std::uint64_t fib_by_iteration(unsigned n) {
    std::uint64_t a = 0, b = 1;
    for (; n > 0; --n) {
        std::uint64_t next = a + b;
        a = b;
        b = next;
    }
    return a;
}

} // namespace examples
