// The grain of a loop is as large as the loop.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
#ifdef MENDED
    const weft::loop_options options{.grain = 4};
#else
    const weft::loop_options options{.grain = 1000};
#endif
    std::vector<double> data(1000, 1.0);
    for (int round = 0; round < 5; ++round)
        weft::parallel_for(
            0, 1000,
            [&](int i) {
                data[static_cast<std::size_t>(i)] += compute(50 * us); // FAULT no_parallelism
            },
            options);
    std::printf("%g\n", data[7]);
}
