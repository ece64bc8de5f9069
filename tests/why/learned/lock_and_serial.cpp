// Two faults: a lock in a loop, and serial code after it.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>
#include <vector>

int main() {
    std::vector<double> data(200, 1.0);
    std::mutex lock;
    double sum = 0;
    for (int round = 0; round < 5; ++round) {
        weft::parallel_for(0, 200, [&](int i) {
            const double mine = compute(100 * us, i);
#if IS_MENDED(1)
            const double more = compute(200 * us, mine);
            const std::lock_guard guard(lock);
#else
            const std::lock_guard guard(lock); // FAULT lock
            const double more = compute(200 * us, mine);
#endif
            sum += more;
        });
#if IS_MENDED(2)
        weft::parallel_for(0, 200, [&](int i) { data[static_cast<std::size_t>(i)] += compute(100 * us); });
#else
        for (double& x : data) x += compute(100 * us); // FAULT serial
#endif
    }
    std::printf("%g\n", sum + data[7]);
}
