// A sum over many numbers.
#include "../work.hpp"

#include <weft/weft.hpp>

int main() {
    double sum = 0;
    for (int round = 0; round < 4; ++round)
        sum += weft::parallel_reduce(
            0, 3000, 0.0, [](int i) { return compute(40 * us, i); },
            [](double a, double b) { return a + b; });
    std::printf("%g\n", sum);
}
