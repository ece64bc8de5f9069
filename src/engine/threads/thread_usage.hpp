#pragma once

#include "engine/worker/worker.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <optional>

#include <ctime>

#include <pthread.h>
#include <sys/types.h>

namespace weft::engine {

/// What the kernel counts of one thread of this process. Any thread may read it while that thread exists.
class thread_usage {
public:
    thread_usage() = default;
    ~thread_usage();
    thread_usage(const thread_usage&) = delete;
    thread_usage& operator=(const thread_usage&) = delete;

    /// From now on it is of that thread, which has run already. `id`: of the kernel.
    void follow(pthread_t, pid_t id) noexcept;
    /// Processor time.
    time_ns cpu() const noexcept;
    /// Time in which it was ready to run and on no core, up to the last moment when it came onto one; empty if the kernel
    /// does not say (it has no /proc, or was built without CONFIG_SCHED_INFO).
    std::optional<time_ns> queued() const noexcept;

private:
    pid_t id_ = 0;
    clockid_t clock_ = 0;
    int schedstat_ = -1;
};

/// A worker's view of the thread that runs it. Written by that thread; `queued_asleep` is read by others, too.
struct occupant_usage {
    const thread_usage* of_thread = nullptr; ///< null: nothing is counted
    counter queued_asleep{}; ///< ns that it waited for a core while a sleep in the runtime ended
};

/// A sleep of the worker's own, on the thread that runs the worker. The worker may have another occupant meanwhile.
class own_sleep {
public:
    explicit own_sleep(occupant_usage& of) noexcept : counted_in_(of.queued_asleep), thread_(of.of_thread) {
        if (thread_) [[unlikely]]
            before_ = thread_->queued();
    }
    ~own_sleep() {
        if (!before_) return;
        if (const auto after = thread_->queued(); after && *after > *before_)
            counted_in_.add(static_cast<std::uint64_t>(*after - *before_));
    }
    own_sleep(const own_sleep&) = delete;
    own_sleep& operator=(const own_sleep&) = delete;

private:
    counter& counted_in_;
    const thread_usage* const thread_;
    std::optional<time_ns> before_{};
};

} // namespace weft::engine
