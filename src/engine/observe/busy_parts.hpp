#pragma once

#include "task/task.hpp"

#include <cstdint>
#include <optional>

namespace weft::engine {

/// What the kernel has counted of the threads that ran a worker, up to a moment; or the difference of two such counts.
struct kernel_count {
    time_ns cpu = 0; ///< they were on a core
    std::optional<time_ns>
        queued{};              ///< they were ready to run and on no core; empty: the kernel does not say
    time_ns queued_asleep = 0; ///< the part of `queued` in which a sleep of the worker's own ended
    std::uint64_t sleeps = 0;  ///< of the worker's own
    /// How long the worker may have waited for a core when it was read: the kernel counts a wait when it is over. Of a
    /// difference: the sum over both readings.
    time_ns open_wait = 0;

    kernel_count since(const kernel_count& earlier) const noexcept;
    void add(const kernel_count&) noexcept;
};

/// A worker's time by its own account, between two moments.
struct awake_time {
    time_ns busy = 0;
    time_ns search = 0; ///< awake and in no task; over several runs, with what it did between them
};

/// Where the busy time of a worker went: the three parts add up to it.
struct busy_parts {
    time_ns on_core = 0;
    std::optional<time_ns>
        waiting{};         ///< ready to run and on no core; empty: unknown, and a part of `blocked`
    time_ns blocked = 0;   ///< in the kernel, until something happened
    time_ns uncertain = 0; ///< by how much each part may be wrong

    time_ns busy() const noexcept { return on_core + waiting.value_or(0) + blocked; }
    void add(const busy_parts&) noexcept;
};

/// A sleep of the worker's own counts as asleep from before the system call until after it. So much of each is
/// the processor's time, which no account of the worker has.
inline constexpr time_ns cost_of_a_sleep = 10'000;

/// Divides the busy time. A worker that searches does not block: so
///
///     blocked = busy + search - cpu - (queued - queued_asleep), but not less than 0 and not more than busy
///
/// whatever the shares of busy and search in `cpu` and in `queued` are. Those in `queued` are unknown: they are taken to
/// be as busy to search.
busy_parts divide(const awake_time&, const kernel_count&) noexcept;

} // namespace weft::engine
