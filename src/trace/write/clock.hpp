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

/// The system's time at any tick: on straight lines through moments. One for all who note events, so that
/// what came before has the smaller time, also when it was stamped long before it could be seen. Monotone.
/// What is later than the last moment is on the line before it, what is earlier than the first kept on that
/// behind it.
class time_line {
public:
    explicit time_line(moment first) {
        moments_.reserve(most); // add() does not allocate
        moments_.push_back(first);
    }

    /// Later than all before.
    void add(moment next) noexcept {
        if (next.ticks <= moments_.back().ticks) return;
        if (moments_.size() == most) moments_.erase(moments_.begin());
        moments_.push_back(next);
    }
    moment last() const noexcept { return moments_.back(); }

    std::int64_t ns(std::uint64_t ticks) const noexcept {
        if (moments_.size() == 1) return moments_.front().ns;
        auto to = moments_.end() - 1; // nearly always
        while (to - 1 != moments_.begin() && ticks < (to - 1)->ticks) --to;
        const moment &from = *(to - 1), &next = *to;
        const double ns_a_tick =
            static_cast<double>(next.ns - from.ns) / static_cast<double>(next.ticks - from.ticks);
        const auto since = static_cast<std::int64_t>(ticks - from.ticks);
        return from.ns + std::llround(static_cast<double>(since) * ns_a_tick);
    }

private:
    static constexpr std::size_t most = 256; // twenty milliseconds apart, usually
    std::vector<moment> moments_;            // ascending
};

} // namespace weft::trace
