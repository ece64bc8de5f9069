#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#    include <x86intrin.h>
#endif

namespace weft::trace {

/// A moment as the clock of events and the system's have it.
struct moment {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0; ///< std::chrono::steady_clock
};

/// What events are stamped with: the processor's counter where the system itself keeps time by it, which
/// means that it goes at one speed and is the same on all cores; else the system's monotonic clock.
class event_clock {
public:
    event_clock() noexcept : by_counter_(system_uses_counter()) {}

    std::uint64_t ticks() const noexcept {
#if defined(__x86_64__)
        if (by_counter_) return __rdtsc();
#endif
        return static_cast<std::uint64_t>(system_ns());
    }
    /// Both clocks at one moment, as near as can be had.
    moment now() const noexcept;
    const char* source() const noexcept { return by_counter_ ? "counter" : "system"; }

    static std::int64_t system_ns() noexcept {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(
                   std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

private:
    static bool system_uses_counter() noexcept;

    const bool by_counter_;
};

/// Between two moments the system's time is on the straight line. Monotone; later ticks than the second
/// moment's are on the same line.
class time_line {
public:
    time_line(moment from, moment to) noexcept
        : from_(from)
        , ns_a_tick_(to.ticks > from.ticks
                         ? static_cast<double>(to.ns - from.ns) / static_cast<double>(to.ticks - from.ticks)
                         : 0) {}
    std::int64_t ns(std::uint64_t ticks) const noexcept {
        const auto since = static_cast<std::int64_t>(ticks - from_.ticks);
        return from_.ns + static_cast<std::int64_t>(static_cast<double>(since) * ns_a_tick_);
    }

private:
    moment from_;
    double ns_a_tick_;
};

} // namespace weft::trace
