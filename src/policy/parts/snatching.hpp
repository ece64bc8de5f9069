#pragma once

/// What snatching brings: a task of `slow_ns` on the slow core that has it, of `fast_ns` on the fast core that gets idle
/// `after_ns` after the task began.
///
///   Q. Chen, M. Guo: Task Scheduling for Multi-core and Parallel Architectures. Springer 2017, 5.3.1; M. A. Bender,
///   M. O. Rabin: Online scheduling of parallel programs on heterogeneous systems. Theory of Computing Systems 35, 2002.
namespace weft {

/// The part of the task that is left: the book's text calls it finished, its formula has it right.
constexpr double part_left(double after_ns, double slow_ns) noexcept {
    return (slow_ns - after_ns) / slow_ns;
}

/// When the snatched task ends: `exchange_ns` for the change of cores, then what is left at the fast core's speed.
constexpr double end_of_snatched(double after_ns, double slow_ns, double fast_ns,
                                 double exchange_ns) noexcept {
    return after_ns + exchange_ns + part_left(after_ns, slow_ns) * fast_ns;
}

/// The exchange pays if it costs less than this: (s_1 - f_4)(1 - f_1 / s_1).
constexpr double break_even_of_snatch(double after_ns, double slow_ns, double fast_ns) noexcept {
    return (slow_ns - after_ns) * (1 - fast_ns / slow_ns);
}

} // namespace weft
