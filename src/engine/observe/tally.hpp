#pragma once

#include "task/task.hpp"

#include <cstdint>
#include <vector>

namespace weft::engine {

struct engine;

/// What the workers of an engine have counted up to a moment, or, as the difference of two, in between.
struct tally {
    struct worker {
        std::uint64_t tasks = 0, steals = 0, exposures = 0, suppressed = 0;
        time_ns idle = 0;   ///< looking for work or asleep
        time_ns asleep = 0; ///< of that
    };

    time_ns began = 0, at = 0; ///< engine time
    std::vector<worker> workers{};

    /// From any thread; the counters go on meanwhile.
    void take(const engine&, time_ns at);
    /// Times are within what has passed, also where a worker changed what it does while it was looked at.
    tally since(const tally& earlier) const;
    time_ns elapsed() const noexcept { return at - began; }
    worker total() const noexcept;
};

} // namespace weft::engine
