// One iteration of a loop takes as long as all the others together.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

namespace {

double element(int i) {
#ifdef MENDED
    static_cast<void>(i);
    return compute(115 * us);
#else
    return compute(i == 390 ? 26 * ms : 50 * us);
#endif
}

} // namespace

int main() {
    std::vector<double> data(400, 1.0);
    for (int round = 0; round < 6; ++round)
        weft::parallel_for(0, 400, [&](int i) { // FAULT long_piece
            data[static_cast<std::size_t>(i)] += element(i);
        });
    std::printf("%g\n", data[7]);
}
