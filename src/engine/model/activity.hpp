#pragma once

#include "task/task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::engine {

/// What a virtual worker does during a stretch of virtual time.
enum class activity : std::uint8_t {
    compute,       ///< user code that computes
    private_stall, ///< user code that waits for the private caches of its core
    shared_stall,  ///< user code that waits for shared caches and memory
    overhead,      ///< the runtime, on the way from one stretch of user code to the next
    search,        ///< looking for work
    asleep,
    waits_for_core, ///< ready to go on, while a worker of another program has the core
};
inline constexpr std::size_t activities = 7;
/// Those of a program that is alone on its machine.
inline constexpr std::size_t activities_alone = 6;

/// The time that a worker has spent on each activity. A worker always has one, so the times add up to the
/// time that has passed.
class activity_times {
public:
    /// From `now` on the activity is `what`.
    void begin(activity what, time_ns now) noexcept {
        spent_[static_cast<std::size_t>(current_)] += now - since_;
        since_ = now;
        current_ = what;
    }
    /// Moves `ns` of the time counted as `from` to `to`.
    void reassign(activity from, activity to, time_ns ns) noexcept {
        spent_[static_cast<std::size_t>(from)] -= ns;
        spent_[static_cast<std::size_t>(to)] += ns;
    }

    activity current() const noexcept { return current_; }
    time_ns since() const noexcept { return since_; }
    const std::array<time_ns, activities>& spent() const noexcept { return spent_; } ///< up to since()
    time_ns spent(activity a) const noexcept { return spent_[static_cast<std::size_t>(a)]; }

private:
    activity current_ = activity::asleep;
    time_ns since_ = 0;
    std::array<time_ns, activities> spent_{};
};

} // namespace weft::engine
