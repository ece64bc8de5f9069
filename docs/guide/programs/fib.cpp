#include <weft/weft.hpp>

#include <cstdio>

static long fib(int n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int main() { std::printf("fib(35) = %ld\n", fib(35)); }
