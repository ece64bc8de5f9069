// A loop over arrays that no cache holds: the memory is the limit.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <vector>

int main() {
    constexpr std::size_t n = 1 << 23, parts = 256, size = n / parts;
    std::vector<double> from(n, 1.0), to(n, 2.0);
#ifdef MENDED
    constexpr std::size_t rounds = 1, inner = 60; // as often, while the part is in a cache
#else
    constexpr std::size_t rounds = 60, inner = 1;
#endif
    for (std::size_t round = 0; round < rounds; ++round)
        weft::parallel_for(std::size_t{0}, parts, [&](std::size_t p) {
            for (std::size_t again = 0; again < inner; ++again)
                for (std::size_t i = p * size; i < (p + 1) * size; ++i)
                    to[i] += 0.5 * from[i]; // FAULT memory
        });
    std::printf("%g\n", to[7]);
}
