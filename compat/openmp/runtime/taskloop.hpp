#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::openmp {

/// How the iterations of a taskloop are cut: the first `larger` tasks have one more than the others.
struct taskloop_cut {
    std::uint64_t tasks = 0, each = 0, larger = 0;
    std::uint64_t last = 0; ///< strict: iterations of the last task, which has the rest; 0: as the others

    std::uint64_t size_of(std::uint64_t i) const noexcept {
        return last && i + 1 == tasks ? last : each + (i < larger);
    }
};

/// `n` > 0 iterations in tasks of at least `grain` (`strict`: of exactly so many, but the last one).
inline taskloop_cut cut_by_grain(std::uint64_t n, std::uint64_t grain, bool strict) noexcept {
    grain = std::max<std::uint64_t>(grain, 1);
    taskloop_cut c;
    if (strict) {
        c.tasks = (n - 1) / grain + 1;
        c.each = grain;
        c.last = n - (c.tasks - 1) * grain;
        return c;
    }
    c.tasks = std::max<std::uint64_t>(n / grain, 1);
    c.each = n / c.tasks;
    c.larger = n % c.tasks;
    return c;
}

/// `n` > 0 iterations in so many tasks, or one for each iteration.
inline taskloop_cut cut_by_number(std::uint64_t n, std::uint64_t tasks) noexcept {
    taskloop_cut c;
    c.tasks = std::min(n, std::max<std::uint64_t>(tasks, 1));
    c.each = n / c.tasks;
    c.larger = n % c.tasks;
    return c;
}

} // namespace weft::openmp
