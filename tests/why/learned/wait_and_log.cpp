// Two faults: the program waits for an answer between its loops, and all tasks write into one log under a lock.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex lock;
std::string text;

void log(double x) {
#if IS_MENDED(1)
    const std::string line = std::to_string(compute(100 * us, x));
    const std::lock_guard guard(lock);
    text += line;
#else
    const std::lock_guard guard(lock); // FAULT lock
    text += std::to_string(compute(100 * us, x));
#endif
}

void answer() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20)); // FAULT waiting_outside
}

} // namespace

int main() {
    for (int round = 0; round < 5; ++round) {
#if IS_MENDED(2)
        std::thread waits(answer);
#endif
        weft::parallel_for(0, 400, [&](int i) { log(compute(60 * us, i)); });
#if IS_MENDED(2)
        waits.join();
#else
        answer();
#endif
    }
    std::printf("%zu\n", text.size());
}
