#include <weft/weft.hpp>

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

static bool is_prime(long n) {
    if (n < 2) return false;
    for (long d = 2; d * d <= n; ++d)
        if (n % d == 0) return false;
    return true;
}

int main() {
    constexpr long n = 300'000;

    // A loop: iterations may run at the same time, and cost what they cost.
    std::vector<char> prime(n);
    weft::parallel_for(0L, n, [&](long i) { prime[i] = is_prime(i); });

    // A sum over a loop: the same result for any number of workers, to the last bit.
    const long count =
        weft::parallel_reduce(0L, n, 0L, [&](long i) { return long{prime[i]}; }, std::plus<>());
    std::printf("primes below %ld: %ld\n", n, count);

    // Any number of children, and one wait.
    long twins = 0, cousins = 0;
    const auto pairs = [&](long distance) {
        return weft::parallel_reduce(
            0L, n - distance, 0L, [&](long i) { return long{prime[i] && prime[i + distance]}; },
            std::plus<>());
    };
    weft::task_group group;
    group.run([&] { twins = pairs(2); });
    group.run([&] { cousins = pairs(4); });
    group.wait();
    std::printf("twins: %ld, cousins: %ld\n", twins, cousins);

    // The first exception of a child comes out of wait().
    group.run([] { throw std::runtime_error("no such prime"); });
    try {
        group.wait();
    } catch (const std::exception& e) { std::printf("caught: %s\n", e.what()); }
}
