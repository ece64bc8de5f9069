#pragma once

#include "task/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::engine {

/// What a virtual worker does at a time.
enum class activity : std::uint8_t {
    compute,       ///< user code that computes
    private_stall, ///< user code that waits for caches of its core alone
    shared_stall,  ///< user code that waits for shared caches and memory
    overhead,      ///< the runtime, on the way from one stretch of user code to the next
    search,        ///< looking for work
    asleep,
};
inline constexpr std::size_t activities = 6;

/// The time that a worker has spent, by activity: it always does something, so the times add up to what has
/// passed.
class timesheet {
public:
    /// From `now` on it does `what`.
    void turn(activity what, time_ns now) noexcept {
        spent_[static_cast<std::size_t>(doing_)] += now - since_;
        since_ = now;
        doing_ = what;
    }
    /// Says that `ns` of what was booked as `from` were `to`.
    void rebook(activity from, activity to, time_ns ns) noexcept {
        spent_[static_cast<std::size_t>(from)] -= ns;
        spent_[static_cast<std::size_t>(to)] += ns;
    }

    activity doing() const noexcept { return doing_; }
    time_ns since() const noexcept { return since_; }
    const std::array<time_ns, activities>& spent() const noexcept { return spent_; } ///< up to since()

private:
    activity doing_ = activity::asleep;
    time_ns since_ = 0;
    std::array<time_ns, activities> spent_{};
};

} // namespace weft::engine
