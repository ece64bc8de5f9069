// Two faults: one long task in a group, and a lock around a shared log.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <mutex>
#include <string>

namespace {

std::mutex log_lock;
std::string text;

void report(int i) {
#if IS_MENDED(1)
    const double x = compute(100 * us, i);
    const std::scoped_lock guard(log_lock);
#else
    const std::scoped_lock guard(log_lock); // FAULT lock
    const double x = compute(100 * us, i);
#endif
    text += std::to_string(x);
}

void work(int i) {
#if IS_MENDED(2)
    compute(300 * us, i);
#else
    compute(i == 90 ? 30 * ms : 1 * us, i); // FAULT long_piece
#endif
    report(i);
}

} // namespace

int main() {
    weft::runtime rt;
    for (int round = 0; round < 4; ++round)
        rt.run([] {
            weft::task_group group;
            for (int i = 0; i < 100; ++i) group.run([i] { work(i); });
            group.wait();
        });
    std::printf("%zu\n", text.size());
}
