// A loop of equal iterations.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(2000, 1.0);
    for (int round = 0; round < 5; ++round)
        weft::parallel_for(0, 2000, [&](int i) { data[static_cast<std::size_t>(i)] += compute(50 * us); });
    std::printf("%g\n", data[7]);
}
