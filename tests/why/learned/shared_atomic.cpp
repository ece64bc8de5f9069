// All workers count in one atomic variable.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <atomic>

int main() {
    std::atomic<long> count = 0;
    for (int round = 0; round < 30; ++round)
        weft::parallel_for(0, 1000, [&](int i) {
            long mine = 0;
            for (int k = 0; k < 2000; ++k) {
                if ((i + k) % 7 == 0) continue;
#ifdef MENDED
                ++mine;
                asm volatile("" : "+r"(mine));
#else
                count.fetch_add(1, std::memory_order_relaxed); // FAULT shared_data
#endif
            }
            count.fetch_add(mine, std::memory_order_relaxed);
        });
    std::printf("%ld\n", count.load());
}
