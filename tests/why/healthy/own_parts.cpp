// Each worker adds up in a part of its own.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <functional>

int main() {
    weft::per_worker<double> parts;
    for (int round = 0; round < 4; ++round)
        weft::parallel_for(0, 2000, [&](int i) { parts.local() += compute(60 * us, i); });
    std::printf("%g\n", parts.combine(std::plus<>()));
}
