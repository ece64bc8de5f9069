#pragma once

#include "task/task.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::engine {

/// The figures of a program's runs by which it is told where its time was lost. Times of workers are sums over all of them.
struct run_figures {
    int workers = 1;
    int cores = 1;           ///< that the process may use
    bool all_active = true;  ///< no worker is kept idle by the number of active workers
    time_ns span = 0;        ///< from the beginning of the first run to the end of the last one
    time_ns in_runs = 0;     ///< the part of it in which there was a run
    time_ns outside = 0;     ///< the part in which there was none, and no report was being made
    time_ns outside_cpu = 0; ///< processor time that the program's threads had in `outside`
    time_ns idle = 0;        ///< of the workers in runs: in search of work, or asleep
    // ---- if the kernel's counts are known
    std::optional<time_ns> blocked{}, blocked_uncertain{}; ///< of the workers in runs
    time_ns cpu = 0;                                       ///< that the threads of the workers had
    std::optional<time_ns> queued{};                       ///< in which they were ready and on no core
    time_ns other_cpu = 0;                                 ///< that other threads of the program had, in runs
    std::uint64_t pages_read = 0;                          ///< from a disk, for page faults of the program
};

/// Below this the notes would tell of accidents.
inline constexpr time_ns least_span_of_notes = 10'000'000;
/// The smallest share that is worth a note: of the span, of the time in which the workers were ready to run, or of the
/// workers' time in runs.
inline constexpr double least_outside = 0.1, least_waiting = 0.1, least_blocked = 0.1, least_idle = 0.3;
inline constexpr std::size_t most_notes = 3;

/// What a reader of these figures should know, in the order of what was lost by it; nothing if little was lost.
std::vector<std::string> notes_on(const run_figures&);

} // namespace weft::engine
