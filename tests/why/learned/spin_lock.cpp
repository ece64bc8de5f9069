// A lock of an std::atomic_flag around a short update.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <atomic>

namespace {

std::atomic_flag is_held;
long count = 0;

void add(long n) {
    while (is_held.test_and_set(std::memory_order_acquire)) {} // FAULT shared_data
    count += n;
    is_held.clear(std::memory_order_release);
}

} // namespace

int main() {
    for (int round = 0; round < 10; ++round)
        weft::parallel_for(0, 1000, [&](int i) {
#ifdef MENDED
            long mine = 0;
            for (int k = 0; k < 2000; ++k) {
                mine += i % 3;
                asm volatile("" : "+r"(mine));
            }
            add(mine);
#else
            for (int k = 0; k < 2000; ++k) add(i % 3);
#endif
        });
    std::printf("%ld\n", count);
}
