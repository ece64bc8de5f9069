// The program chooses equal parts of a loop, and one part has most of the work.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    weft::runtime_options options;
#ifndef MENDED
    options.policy = "static:pieces=1"; // FAULT policy
#endif
    weft::runtime rt(options);
    std::vector<double> data(400);
    for (int round = 0; round < 5; ++round)
        rt.run([&] {
            weft::parallel_for(0, 400, [&](int i) {
                data[static_cast<std::size_t>(i)] += compute(i < 200 ? 300 * us : 30 * us, i);
            });
        });
    std::printf("%g\n", data[7]);
}
