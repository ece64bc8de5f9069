#pragma once

#include "trace/profile/profile.hpp"
#include "trace/write/clock.hpp"
#include "trace/write/recorder.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace weft::engine {

/// The work and the span of an engine's runs and of the program between them, by construct, in a file:
/// docs/profile.md. The engine has one worker.
class profile_file {
public:
    /// `header`: a JSON object, whose members the file begins with. `virtual_time`: in nanoseconds, if the engine's time is
    /// virtual; else null. Throws weft::error if the file cannot be made.
    profile_file(std::string path, std::string header, const std::atomic<std::int64_t>* virtual_time);

    trace::recorder& events() noexcept { return events_; }
    /// Writes the file. The worker must have stopped.
    void finish() noexcept;

private:
    /// What the times of events are.
    struct scale {
        double ns = 1;                        ///< how long a tick is
        std::optional<std::uint64_t> began{}; ///< when the program began; its own code takes no virtual time
        std::int64_t cost = 0;                ///< of an event
    };

    scale scale_of_clock() const;
    std::uint64_t now() const noexcept;
    double ns_of_tick() const noexcept;
    std::string text();

    const std::string path_, header_;
    const std::atomic<std::int64_t>* const virtual_time_;
    const trace::event_clock clock_;
    const trace::moment made_;
    const scale scale_;
    trace::profile folded_;
    trace::recorder events_;
    bool finished_ = false;
};

} // namespace weft::engine
