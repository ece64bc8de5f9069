// Clocks and compiler barriers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include <time.h>

namespace bench {

inline std::int64_t now_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// How long `body()` takes.
template <class Body>
double time_ns(Body&& body) {
    const auto began = now_ns();
    std::forward<Body>(body)();
    return static_cast<double>(now_ns() - began);
}

/// The best of a few times: without what others took of the core.
template <class Body>
double best_ns(int times, Body&& body) {
    double best = time_ns(body);
    for (int i = 1; i < times; ++i) best = std::min(best, time_ns(body));
    return best;
}

/// CPU time of all threads of this process.
inline std::int64_t cpu_ns() noexcept {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// Until no thread of this process has run for some milliseconds, 5 seconds at most: what it did before is
/// over, and what its idle workers do after that.
inline void wait_until_quiet() {
    constexpr std::int64_t a_run = 100'000;
    for (const auto end = now_ns() + std::int64_t{5'000'000'000}; now_ns() < end;) {
        const auto before = cpu_ns();
        sleep_ms(5);
        if (cpu_ns() - before < a_run) return;
    }
}

/// Keeps the core busy, calls nothing of the runtime.
inline void spin_ns(std::int64_t ns) noexcept {
    for (const auto end = now_ns() + ns; now_ns() < end;) {}
}

/// The value is computed, and nothing is known about it afterwards.
template <class T>
void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

} // namespace bench
