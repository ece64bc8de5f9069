#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

/// Speed balancing: the share of time that threads get, made equal.
///
///   S. Hofmeyr, C. Iancu, F. Blagojevic: Load balancing on speed. PPoPP 2010, as in Q. Chen, M. Guo: Task Scheduling for
///   Multi-core and Parallel Architectures. Springer 2017, 5.3.5.
namespace weft {

/// Of a thread that ran for `executed` of the last `real`, on a core of that speed (ours: the book's cores are equal).
constexpr double thread_speed(double executed, double real, double core_speed = 1) noexcept {
    return real > 0 ? executed / real * core_speed : 0;
}

/// The core from which the balancer of core `j` pulls a thread: the slowest of those that are slower than the mean of all, and
/// that no thread has left or come to recently; -1: none, or core j is not faster than the mean.
inline int core_to_pull_from(std::size_t j, std::span<const double> speeds,
                             std::span<const bool> recently) noexcept {
    double mean = 0;
    for (const double s : speeds) mean += s / static_cast<double>(speeds.size());
    int slowest = -1;
    if (speeds[j] <= mean) return slowest;
    for (std::size_t k = 0; k < speeds.size(); ++k)
        if (k != j && speeds[k] < mean && !recently[k] &&
            (slowest < 0 || speeds[k] < speeds[static_cast<std::size_t>(slowest)]))
            slowest = static_cast<int>(k);
    return slowest;
}

/// The book's analysis, for `threads` > `cores` of equal speed. T threads are on a core with few, T + 1 on the others.
struct speed_analysis {
    int threads, cores;

    constexpr int few() const noexcept { return threads / cores; } // T
    constexpr double by_queue_length() const noexcept { return 1.0 / (few() + 1); }
    /// Each thread for half of the time on a core with few: what the book promises.
    constexpr double promised() const noexcept { return 0.5 / few() + 0.5 / (few() + 1); }
    /// All cores together do not do more than their number: the book leaves that out.
    constexpr double attainable() const noexcept {
        return std::min(promised(), static_cast<double>(cores) / threads);
    }
    constexpr double promised_gain() const noexcept {
        return promised() / by_queue_length() - 1;
    } // 1 / (2 T)
    constexpr double attainable_gain() const noexcept { return attainable() / by_queue_length() - 1; }
};

} // namespace weft
