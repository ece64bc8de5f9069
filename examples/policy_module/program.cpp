// Sums in a tree of tasks, for the policy beside this file; checks its answer.
#include <weft/weft.hpp>

#include <cstdio>

static long sum(long first, long last) {
    if (last - first <= 16) {
        weft::cost(1000); // cycles, on modelled machines
        long total = 0;
        for (long i = first; i < last; ++i) total += i;
        return total;
    }
    const long middle = first + (last - first) / 2;
    auto [a, b] = weft::join([=] { return sum(first, middle); }, [=] { return sum(middle, last); });
    return a + b;
}

int main() {
    constexpr long n = 20'000;
    const long total = sum(0, n);
    std::printf("the sum of the numbers below %ld is %ld\n", n, total);
    return total == n * (n - 1) / 2 ? 0 : 1;
}
