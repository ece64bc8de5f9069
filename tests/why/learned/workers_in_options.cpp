// The program asks for far more workers than there are cores, and its tasks spin on a lock: while the worker that holds it has no
// core, the others spin for a whole time slice.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <atomic>
#include <vector>

namespace {

std::atomic_flag is_held;

void lock() {
    while (is_held.test_and_set(std::memory_order_acquire)) {}
}
void unlock() { is_held.clear(std::memory_order_release); }

} // namespace

int main() {
    weft::runtime_options options;
#ifndef MENDED
    options.workers = 16; // FAULT oversubscription
#endif
    weft::runtime rt(options);
    double sum = 0;
    for (int step = 0; step < 10; ++step)
        rt.run([&] {
            weft::parallel_for(0, 800, [&](int i) {
                const double mine = compute(40 * us, i);
                lock();
                sum += compute(20 * us, mine);
                unlock();
            });
        });
    std::printf("%g\n", sum);
}
