// Thousands of loops that are over before a second worker has come.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(4000 * 16, 1.0);
#ifdef MENDED
    weft::parallel_for(0, 4000, [&](int step) {
        for (int i = 0; i < 16; ++i) data[static_cast<std::size_t>(16 * step + i)] += compute(3 * us);
    });
#else
    for (int step = 0; step < 4000; ++step)
        weft::parallel_for(0, 16, [&](int i) {
            data[static_cast<std::size_t>(16 * step + i)] += compute(3 * us); // FAULT short_runs
        });
#endif
    std::printf("%g\n", data[7]);
}
