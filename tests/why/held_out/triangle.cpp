// The program chooses a policy that gives each worker an equal part of a loop, and the loop is a triangle.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    weft::runtime_options options;
#ifndef MENDED
    options.policy = "static"; // FAULT policy
#endif
    weft::runtime rt(options);
    std::vector<double> sums(300);
    for (int round = 0; round < 5; ++round)
        rt.run([&] {
            weft::parallel_for(0, 300, [&](int row) {
                for (int column = 0; column < row; ++column)
                    sums[static_cast<std::size_t>(row)] += compute(2 * us, column);
            });
        });
    std::printf("%g\n", sums[7]);
}
