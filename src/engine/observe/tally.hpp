#pragma once

#include "task/task.hpp"

#include <cstdint>
#include <vector>

namespace weft::engine {

struct engine;

/// What the workers of an engine have counted up to a moment; as the difference of two tallies, between two
/// moments.
struct tally {
    struct worker {
        std::uint64_t tasks = 0, steals = 0, exposures = 0, suppressed = 0;
        std::uint64_t exchanges = 0, refused_exchanges = 0; ///< of cores with another worker
        time_ns idle = 0;                                   ///< time spent looking for work or asleep
        time_ns asleep = 0;                                 ///< the part of `idle` spent asleep
        time_ns paced = 0,
                used = 0; ///< with emulated speeds: time at work, and the processor time it had then

        void add(const worker&) noexcept;
    };

    time_ns began = 0, at = 0; ///< engine time
    std::vector<worker> workers{};

    /// Reads the counters, which may change meanwhile; from any thread.
    void take(const engine&, time_ns at);
    /// The difference to an earlier tally. Each time is clamped to the time elapsed, because a worker may
    /// have changed between idle and busy while it was read.
    tally since(const tally& earlier) const;
    /// To a difference: one of other moments. The sum has a time that elapsed, but neither beginning nor end.
    void add(const tally&);
    time_ns elapsed() const noexcept { return at - began; }
    worker total() const noexcept;
};

} // namespace weft::engine
