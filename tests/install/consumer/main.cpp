#include <weft/weft.hpp>

#include <cstdio>

static int fib(int n) {
    if (n < 2) return n;
    auto [a, b] = weft::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

int main() {
    int const value = fib(20);
    std::printf("fib(20) = %d\n", value);
    return value == 6765 ? 0 : 1;
}
