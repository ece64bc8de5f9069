// The program asks for far more workers than there are cores, and they never sleep.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <vector>

int main() {
    weft::runtime_options options;
#ifndef MENDED
    options.workers = 16; // FAULT oversubscription
#endif
    options.spin = std::chrono::microseconds::max();
    weft::runtime rt(options);
    std::vector<double> data(64, 1.0);
    for (int step = 0; step < 200; ++step)
        rt.run([&] {
            weft::parallel_for(0, 64, [&](int i) { data[static_cast<std::size_t>(i)] += compute(30 * us); });
        });
    std::printf("%g\n", data[7]);
}
