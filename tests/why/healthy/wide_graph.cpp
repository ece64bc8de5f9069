// A graph of 40 independent chains.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    std::vector<double> data(40, 1.0);
    weft::graph steps;
    for (int step = 0; step < 40; ++step)
        for (double& x : data) steps.add([&x] { x = compute(200 * us, x); }, weft::readwrite(x));
    steps.run();
    std::printf("%g\n", data[7]);
}
