#include <weft/weft.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

/// How many pairs of points on a line are closer than 1 to each other.
///
///     pairs [GRAIN]    GRAIN: so many points in a piece of the loop; default: the library chooses
int main(int count, char** words) {
    const std::size_t grain = count > 1 ? std::strtoul(words[1], nullptr, 10) : 0;
    constexpr std::size_t n = 4096;
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = std::fmod(static_cast<double>(i) * 0.618034, 1.0) * 100;

    const auto close_behind = [&](std::size_t i) {
        weft::touch(&x[i], (n - i) * sizeof(double), weft::access::read);
        weft::cost(std::uint64_t{2} * (n - i)); // cycles
        long close = 0;
        for (std::size_t j = i + 1; j < n; ++j) close += std::abs(x[i] - x[j]) < 1;
        return close;
    };
    const long pairs =
        weft::parallel_reduce(std::size_t{0}, n, 0L, close_behind, std::plus<>(), {.grain = grain});
    std::printf("%ld pairs\n", pairs);
}
