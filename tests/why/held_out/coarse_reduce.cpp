// A reduction whose grain leaves one piece.
#include "../work.hpp"

#include <weft/weft.hpp>

int main() {
    double sum = 0;
#ifdef MENDED
    const weft::loop_options options{};
#else
    const weft::loop_options options{.grain = 1 << 20};
#endif
    for (int round = 0; round < 4; ++round)
        sum += weft::parallel_reduce(
            0, 2000, 0.0, [](int i) { return compute(30 * us, i); }, // FAULT no_parallelism
            [](double a, double b) { return a + b; }, options);
    std::printf("%g\n", sum);
}
