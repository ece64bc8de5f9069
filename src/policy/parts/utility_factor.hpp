#pragma once

#include <algorithm>
#include <cstdint>

/// How much an application gains by a fast core, and what follows for its threads.
///
///   J. C. Saez, A. Fedorova, M. Prieto, H. Vegas: Operating system support for mitigating software scalability bottlenecks
///   on asymmetric multicore processors (CAMP), as in Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel
///   Architectures. Springer 2017, 5.3.2.
namespace weft {

/// UF of an application of so many runnable threads, whose mean speedup on a fast core is `speedup` (5.1).
constexpr double utility_factor(double speedup, int runnable, int fast_cores) noexcept {
    const double beyond = std::max(1, runnable - (fast_cores - 1));
    return speedup / (beyond * beyond);
}

enum class utility_class : std::uint8_t { low, medium, high, boosted };

constexpr utility_class utility_class_of(double factor, double lower, double upper) noexcept {
    return factor < lower ? utility_class::low : factor > upper ? utility_class::high : utility_class::medium;
}

} // namespace weft
