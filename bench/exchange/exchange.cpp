// What it takes until two running threads have changed cores: the time from the change of the two masks until each has seen
// that it runs on the other's core, without Weft. The machine files' default, `[exchange] ns`, comes from here.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct spinner {
    std::atomic<pid_t> id{0};
    std::atomic<int> cpu{-1}; ///< on which it was seen last
    std::atomic<bool> stops{false};
    std::thread thread{[this] {
        id = static_cast<pid_t>(syscall(SYS_gettid));
        while (!stops.load(std::memory_order_relaxed)) cpu.store(sched_getcpu(), std::memory_order_relaxed);
    }};
    ~spinner() {
        stops = true;
        thread.join();
    }
};

void pin(pid_t thread, int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<std::size_t>(cpu), &mask);
    sched_setaffinity(thread, sizeof mask, &mask);
}

} // namespace

int main() {
    cpu_set_t usable;
    sched_getaffinity(0, sizeof usable, &usable);
    std::vector<int> cpus;
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(static_cast<std::size_t>(c), &usable)) cpus.push_back(c);
    if (cpus.size() < 2) {
        std::fputs("exchange: needs two cores\n", stderr);
        return 1;
    }
    std::array<spinner, 2> threads;
    for (const auto& t : threads)
        while (t.id == 0) std::this_thread::yield();
    std::vector<std::int64_t> took;
    for (int round = 0; round < 2000; ++round) {
        const int first = cpus[static_cast<std::size_t>(round % 2)],
                  second = cpus[static_cast<std::size_t>(1 - round % 2)];
        const auto began = now_ns();
        pin(threads[0].id, first);
        pin(threads[1].id, second);
        while (threads[0].cpu.load(std::memory_order_relaxed) != first ||
               threads[1].cpu.load(std::memory_order_relaxed) != second)
            if (cpus.size() < 3) std::this_thread::yield();
        took.push_back(now_ns() - began);
    }
    std::ranges::sort(took);
    fmt::print("{{\"rounds\": {}, \"least_ns\": {}, \"median_ns\": {}, \"upper_tenth_ns\": {}}}\n",
               took.size(), took.front(), took[took.size() / 2], took[took.size() * 9 / 10]);
}
