#pragma once

#include "task/task.hpp"

#include <optional>
#include <string>

namespace weft::impl {
struct worker;
}

namespace weft::engine {

using impl::worker;
struct tally;

struct measured_run { ///< in an engine's time
    time_ns began = 0, ended = 0;
    std::optional<time_ns> work{}; ///< of all workers in user code, if the engine can tell
};

/// What an engine tells of its runs. A run lasts from the first open root to the end of the last one.
struct observation {
    /// From any thread: a root is about to be handed in.
    virtual void root_begins() {}
    /// A root has ended on this worker; the code that waits for the root does not know yet.
    virtual void root_ended(worker&) noexcept = 0;
    /// Of the last roots, where the engine's time is its own; the caller has waited for them.
    virtual std::optional<measured_run> last_measured_run() const { return std::nullopt; }
    /// What happened in a run that has ended, the last one if the engine's time is its own; for people or as one
    /// JSON object.
    virtual std::string describe_run(const tally& run, bool as_json) const = 0;

protected:
    ~observation() = default;
};

} // namespace weft::engine
