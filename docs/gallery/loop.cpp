#include <weft/weft.hpp>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <functional>

/// Rows of the Mandelbrot set: some cost a hundred times as much as others.
static int inside(int row) {
    int points = 0, steps = 0;
    for (int column = 0; column < 160; ++column) {
        const std::complex<double> c(column / 60.0 - 2, row / 60.0 - 1);
        std::complex<double> z;
        int i = 0;
        while (i < 200 && std::norm(z) < 4) z = z * z + c, ++i;
        points += i == 200;
        steps += i;
    }
    weft::cost(std::uint64_t{10} * static_cast<std::uint64_t>(steps));
    return points;
}

int main() {
    const int points = weft::parallel_reduce(0, 120, 0, inside, std::plus<>(), {.grain = 1});
    std::printf("%d points in the set\n", points);
}
