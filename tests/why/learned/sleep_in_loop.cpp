// Each iteration waits for a server, which a blocking sleep stands for.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <thread>
#include <vector>

int main() {
    using namespace std::chrono_literals;
    std::vector<double> data(100, 1.0);
    for (int round = 0; round < 5; ++round)
        weft::parallel_for(0, 100,
                           [&](int i) {
#ifdef MENDED
                               weft::this_task::sleep_for(1ms);
#else
                std::this_thread::sleep_for(1ms); // FAULT blocking
#endif
                               data[static_cast<std::size_t>(i)] += compute(100 * us);
                           },
                           {.grain = 1});
    std::printf("%g\n", data[7]);
}
