#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#    include <x86intrin.h>
#endif

namespace weft::trace {

/// A moment by the clock of events and by the system's clock.
struct moment {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0; ///< std::chrono::steady_clock
};

/// The clock of events: the processor's counter if the system itself keeps time by it, which means that the
/// counter has one speed and is the same on all cores; else the system's monotonic clock.
class event_clock {
public:
    event_clock() noexcept : by_counter_(system_uses_counter()) {}

    std::uint64_t ticks() const noexcept {
#if defined(__x86_64__)
        if (by_counter_) return __rdtsc();
#endif
        return static_cast<std::uint64_t>(system_ns());
    }
    /// Both clocks at one moment, as closely as they can be read together.
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

/// The system's time at any tick: on straight lines through moments. All streams share one time line, so that
/// the earlier event has the smaller time, also if it was written long after it was stamped. Monotone. Ticks
/// after the last moment lie on the line that ends there; ticks before the first moment that is kept lie on
/// the line that begins there.
class time_line {
public:
    explicit time_line(moment first) {
        moments_.reserve(most); // add() does not allocate
        moments_.push_back(first);
    }

    /// A moment that is not later than all before is left out.
    void add(moment next) noexcept {
        if (next.ticks <= moments_.back().ticks) return;
        if (moments_.size() == most) moments_.erase(moments_.begin());
        moments_.push_back(next);
    }
    moment last() const noexcept { return moments_.back(); }

    std::int64_t ns(std::uint64_t ticks) const noexcept {
        if (moments_.size() == 1) return moments_.front().ns;
        auto to = moments_.end() - 1; // ticks nearly always lie on the last line
        while (to - 1 != moments_.begin() && ticks < (to - 1)->ticks) --to;
        const moment &from = *(to - 1), &next = *to;
        const double ns_a_tick =
            static_cast<double>(next.ns - from.ns) / static_cast<double>(next.ticks - from.ticks);
        const auto since = static_cast<std::int64_t>(ticks - from.ticks);
        return from.ns + std::llround(static_cast<double>(since) * ns_a_tick);
    }

private:
    static constexpr std::size_t most = 256; // usually twenty milliseconds apart
    std::vector<moment> moments_;            // ascending
};

} // namespace weft::trace
