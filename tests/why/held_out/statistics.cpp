// Each worker has an element of its own in an array, beside the elements of the others.
#include "../work.hpp"

#include <weft/weft.hpp>

namespace {

#ifdef MENDED
struct alignas(64) statistics {
#else
struct statistics {
#endif
    long count = 0;
    double sum = 0;
};

void add(statistics& to, double x) {
    ++to.count; // FAULT shared_data
    to.sum += x;
    asm volatile("" ::: "memory"); // another thread may look at them at any time
}

alignas(64) statistics of_worker[64];

} // namespace

int main() {
    for (int round = 0; round < 20; ++round)
        weft::parallel_for(0, 2000, [&](int i) {
            const auto worker = static_cast<std::size_t>(weft::this_task::worker());
            for (int k = 0; k < 3000; ++k) add(of_worker[worker], i + k);
        });
    std::printf("%ld\n", of_worker[0].count > 0 ? 1L : 0L);
}
