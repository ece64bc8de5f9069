#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sched.h>

namespace weft::calibrate {

inline std::int64_t now_ns() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/// How long `body()` takes, the best of a few times: without what others took of the core. In nanoseconds.
template <class Body>
double best_ns(int times, Body&& body) {
    double best = 0;
    for (int i = 0; i < times; ++i) {
        const auto began = now_ns();
        body();
        const auto took = static_cast<double>(now_ns() - began);
        best = i == 0 ? took : std::min(best, took);
    }
    return best;
}

/// Of samples that other programs may have disturbed: one that nine of ten are above.
inline double undisturbed(std::vector<double> v) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 10);
    std::nth_element(v.begin(), at, v.end());
    return *at;
}

/// The value is computed, and nothing is known about it afterwards.
template <class T>
void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

/// Keeps the calling thread on a processing unit; -1: where it is. A mask that is refused leaves it there, too.
inline void pin(int os_index) noexcept {
    if (os_index < 0 || os_index >= CPU_SETSIZE) return;
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<std::size_t>(os_index), &only);
    static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof only, &only));
}

} // namespace weft::calibrate
