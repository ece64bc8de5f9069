// A std::mutex is held for most of each iteration.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>
#include <vector>

int main() {
    double sum = 0;
    for (int round = 0; round < 20; ++round) {
#ifdef MENDED
        std::vector<double> parts(200);
        weft::parallel_for(0, 200, [&](int i) { parts[static_cast<std::size_t>(i)] = compute(50 * us); });
        for (const double part : parts) sum += part;
#else
        std::mutex lock;
        weft::parallel_for(0, 200, [&](int) {
            const std::lock_guard guard(lock); // FAULT lock
            sum += compute(50 * us);
        });
#endif
    }
    std::printf("%g\n", sum);
}
