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
    std::optional<time_ns> work{}; ///< time of all workers in user code, if the engine can tell
};

/// What an engine tells of its runs. A run lasts from the beginning of its first open root to the end of its
/// last one.
struct observation {
    /// A root is about to be submitted; from any thread.
    virtual void root_begins(task&) {}
    /// A task is about to be submitted that belongs to the present run, though its root does not wait for it; by a worker.
    /// True if a run is open: then the end of the task counts as that of a root.
    virtual bool run_continues() = 0;
    /// A root has ended on this worker. The code that waits for the root has not been told yet.
    virtual void root_ended(worker&) noexcept = 0;
    /// The run of the last roots, if the engine's time is virtual. The caller has waited for these roots.
    virtual std::optional<measured_run> last_measured_run() const { return std::nullopt; }
    /// Describes a run that has ended (the last one, if the engine's time is virtual): as text for people, or
    /// as one JSON object.
    virtual std::string describe_run(const tally& run, bool as_json) const = 0;
    /// Describes all runs together, and the time between them, in the same forms; empty if no run has begun or the
    /// engine does not count this.
    virtual std::string describe_all_runs(bool /*as_json*/) { return {}; }

protected:
    ~observation() = default;
};

} // namespace weft::engine
