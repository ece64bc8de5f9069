// Two loops, and 40 ms of serial code between them.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

void between(std::vector<double>& data) {
#ifdef MENDED
    weft::parallel_for(0, 400, [&](int i) { data[static_cast<std::size_t>(i)] += compute(100 * us); });
#else
    for (double& x : data) x += compute(100 * us); // FAULT serial
#endif
}

} // namespace

int main() {
    std::vector<double> data(400, 1.0);
    for (int round = 0; round < 5; ++round) {
        weft::parallel_for(0, 400, [&](int i) { data[static_cast<std::size_t>(i)] += compute(100 * us); });
        between(data);
    }
    std::printf("%g\n", data[7]);
}
