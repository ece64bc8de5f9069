// Two faults: serial code, and a sleep in the tasks of a loop.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <thread>
#include <vector>

int main() {
    using namespace std::chrono_literals;
    std::vector<double> data(60, 1.0);
    for (int round = 0; round < 4; ++round) {
#if IS_MENDED(1)
        weft::parallel_for(0, 60, [&](int i) { data[static_cast<std::size_t>(i)] += compute(ms); });
#else
        for (double& x : data) x += compute(ms); // FAULT serial
#endif
        weft::parallel_for(0, 60,
                           [&](int i) {
#if IS_MENDED(2)
                               weft::this_task::sleep_for(2ms);
#else
                std::this_thread::sleep_for(2ms); // FAULT blocking
#endif
                               data[static_cast<std::size_t>(i)] += compute(ms);
                           },
                           {.grain = 1});
    }
    std::printf("%g\n", data[7]);
}
