// A loop in a loop.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(100 * 100, 1.0);
    for (int round = 0; round < 3; ++round)
        weft::parallel_for(0, 100, [&](int row) {
            weft::parallel_for(0, 100, [&](int column) {
                data[static_cast<std::size_t>(100 * row + column)] += compute(15 * us);
            });
        });
    std::printf("%g\n", data[7]);
}
