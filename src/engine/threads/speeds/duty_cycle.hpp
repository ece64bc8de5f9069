#pragma once

#include "task/task.hpp"

#include <algorithm>

namespace weft::engine {

/// The account of a worker that has its core for a share of the time: up to which moment it has used what it may use. It
/// reads no clock. All times in nanoseconds: `now` of the engine's clock, `cpu` of the processor time of the thread that runs
/// the worker.
///
/// Its words belong to that thread (V2). From one charge to the next the worker had the share that it had at the first one. A worker that was kept from its core
/// by other threads makes up for at most `most_credit`; one that had no work makes up for nothing, and what it has used too
/// much it waits for before it works again.
class duty_cycle {
public:
    static constexpr time_ns most_credit = 4'000'000;

    struct stretch { ///< between two charges
        time_ns passed = 0, used = 0;
    };

    void work_begins(time_ns now, time_ns cpu, double share) noexcept {
        due_ = std::max(due_, now);
        thread_comes(now, cpu, share);
    }
    /// Another thread runs the worker from now on.
    void thread_comes(time_ns now, time_ns cpu, double share) noexcept {
        at_ = now;
        cpu_at_ = cpu;
        share_ = share;
    }
    /// The share counts from now on.
    stretch charge(time_ns now, time_ns cpu, double share) noexcept {
        const stretch last{now - at_, cpu - cpu_at_};
        due_ =
            std::max(due_ + static_cast<time_ns>(static_cast<double>(last.used) / share_), now - most_credit);
        thread_comes(now, cpu, share);
        return last;
    }
    /// The processor time up to the last charge is right at this moment: until then the worker pauses.
    time_ns due() const noexcept { return due_; }

private:
    time_ns due_ = 0, at_ = 0, cpu_at_ = 0;
    double share_ = 1;
};

} // namespace weft::engine
