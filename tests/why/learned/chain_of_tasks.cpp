// A graph in which each task waits for the one before.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(200, 1.0);
    double last = 0;
    for (int round = 0; round < 5; ++round) {
        weft::graph steps;
        for (double& x : data) {
#ifdef MENDED
            steps.add([&x] { x += compute(200 * us); }, weft::readwrite(x));
#else
            steps.add([&x] { x += compute(200 * us); }, weft::readwrite(x),
                      weft::readwrite(last)); // FAULT no_parallelism
#endif
        }
        steps.run();
    }
    std::printf("%g\n", data[7] + last);
}
