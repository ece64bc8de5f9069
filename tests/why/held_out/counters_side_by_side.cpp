// Each worker has a counter of its own, but all counters lie in one cache line.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <vector>

namespace {

#ifdef MENDED
struct alignas(64) counter {
#else
struct counter {
#endif
    std::atomic<long> n = 0;
};

} // namespace

int main() {
    std::vector<counter> counters(64);
    for (int round = 0; round < 60; ++round)
        weft::parallel_for(0, 64,
                           [&](int i) {
                               // The first half of the iterations has the even counters, the second half those between them.
                               const int own = i < 32 ? 2 * i : 2 * (i - 32) + 1;
                               for (int k = 0; k < 60000; ++k) {
                                   counter& mine = counters[static_cast<std::size_t>(own)];
                                   mine.n.store(mine.n.load(std::memory_order_relaxed) + 1,
                                                std::memory_order_relaxed); // FAULT shared_data
                               }
                           },
                           {.grain = 1});
    std::printf("%ld\n", counters[7].n.load());
}
