#include <weft/weft.hpp>

#include <cstdio>

/// Forks without a cut-off: an idle worker gets the largest part that is left.
static long fib(int n) {
    weft::cost(400);
    if (n < 2) return n;
    const auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int main() { std::printf("fib(18) = %ld\n", fib(18)); }
