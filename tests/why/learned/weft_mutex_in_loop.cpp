// A weft::mutex is held for most of each iteration.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>

int main() {
    weft::mutex lock;
    double sum = 0;
    for (int round = 0; round < 5; ++round)
        weft::parallel_for(0, 300, [&](int i) {
#ifdef MENDED
            const double mine = compute(200 * us, i);
            const std::lock_guard guard(lock);
            sum += mine;
#else
            const std::lock_guard guard(lock); // FAULT weft_wait
            sum += compute(200 * us, i);
#endif
        });
    std::printf("%g\n", sum);
}
