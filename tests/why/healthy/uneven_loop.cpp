// Iterations of very different lengths, but none of them long.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(3000, 1.0);
    for (int round = 0; round < 4; ++round)
        weft::parallel_for(0, 3000,
                           [&](int i) { data[static_cast<std::size_t>(i)] += compute((i * 37 % 100) * us); });
    std::printf("%g\n", data[7]);
}
