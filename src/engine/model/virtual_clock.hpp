#pragma once

#include "task/task.hpp"

#include <cassert>
#include <cmath>

/// Arithmetic of virtual time: whole nanoseconds, and doubles for what is less than one. A double loses what is
/// below its last place: of 3e13 ns (8 hours) that is 2e-3 ns, more than a transfer that is not over yet may have
/// left, so that adding the rest to the clock would give the clock again. So sums are formed relative to the
/// last multiple of `epoch`, below which the last place of a double is 2^-9 ns at most.
namespace weft::engine {

/// 2^44 ns are 4.9 hours. In the first epoch a sum has the same bits as one of the clock itself.
inline constexpr time_ns epoch = time_ns{1} << 44;

/// 146 years. No event happens there: the engine reports that the clock is too small for the program. Twice
/// this time still fits into time_ns, so that a time before it and a duration up to it can be added.
inline constexpr time_ns end_of_time = time_ns{1} << 62;

/// The beginning of the epoch of `t`.
constexpr time_ns epoch_of(time_ns t) noexcept { return t & ~(epoch - 1); }

/// The whole nanoseconds of a duration, at most `end_of_time`. Requires: `ns` is not negative and no NaN.
inline time_ns whole_ns(double ns) noexcept {
    assert(ns >= 0);
    return ns < static_cast<double>(end_of_time) ? static_cast<time_ns>(ns) : end_of_time;
}

/// The first whole nanosecond that is not before `ns` after `t`; at most `end_of_time`. It is later than `t` if
/// `ns` is 1e-3 or more: half of the last place of `t` within its epoch is less.
inline time_ns at_or_after(time_ns t, double ns) noexcept {
    const time_ns base = epoch_of(t);
    const double at = std::ceil(static_cast<double>(t - base) + ns);
    return at < static_cast<double>(end_of_time - base) ? base + static_cast<time_ns>(at) : end_of_time;
}

} // namespace weft::engine
