#pragma once

#include <cstddef>
#include <span>

/// Which thread goes to which core, the longest to the fastest: all threads at once.
///
///   N. B. Lakshminarayana, J. Lee, H. Kim: Age based scheduling for asymmetric multiprocessors. SC 2009, as in Q. Chen,
///   M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.4, Algorithm 7.
namespace weft {

/// `left`: what each thread has still to do, descending. `speeds`: of the cores, descending. Writes the core of each thread
/// to `core_of`; `room`, of the size of `speeds`, is for the calculation. The book prints max() where the core of the
/// maximum is meant; of cores with equal room the first, which is the fastest, is taken.
inline void assign_longest_first(std::span<const double> left, std::span<const double> speeds,
                                 std::span<int> core_of, std::span<double> room) noexcept {
    const std::size_t threads = left.size(), cores = speeds.size();
    if (threads <= cores) {
        for (std::size_t t = 0; t < threads; ++t) core_of[t] = static_cast<int>(t);
        return;
    }
    double all_left = 0, all_speeds = 0;
    for (const double l : left) all_left += l;
    for (const double s : speeds) all_speeds += s;
    for (std::size_t c = 0; c < cores; ++c) room[c] = all_left / all_speeds * speeds[c];
    const auto has_some = [&](std::size_t core, std::size_t assigned) {
        for (std::size_t t = 0; t < assigned; ++t)
            if (core_of[t] == static_cast<int>(core)) return true;
        return false;
    };
    for (std::size_t t = 0; t < threads; ++t) {
        std::size_t best = 0;
        for (std::size_t c = 1; c < cores; ++c)
            if (room[c] > room[best]) best = c;
        room[best] -= left[t];
        core_of[t] = static_cast<int>(best);
        std::size_t bare = 0;
        for (std::size_t c = 0; c < cores; ++c) bare += has_some(c, t + 1) ? 0 : 1;
        if (threads - (t + 1) > bare) continue;
        for (std::size_t c = 0, next = t + 1, given = t + 1; c < cores && next < threads; ++c)
            if (!has_some(c, given)) core_of[next++] = static_cast<int>(c);
        return;
    }
}

} // namespace weft
