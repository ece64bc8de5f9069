#pragma once

#include "engine/observe/lost_time.hpp"
#include "engine/threads/report.hpp"
#include "policy/seam/policy.hpp"

#include <cstdint>
#include <string>

namespace weft::engine {

/// All runs of an engine with threads, and the time between them.
struct total_report {
    thread_report all; ///< the sums over all runs
    std::uint64_t runs = 0;
    bool last_is_open = false; ///< the last one had not ended
    policy_choices choices{};  ///< of the policy, by place of the program
    time_ns recording = 0;     ///< the part of the span in which reports were made
    run_figures figures{};
    // ---- of the whole process, from the first run to the end of the engine
    std::uint64_t minor_faults = 0, voluntary_switches = 0, involuntary_switches = 0;

    std::string to_json() const;  ///< one object; docs/reports.md names the keys
    std::string to_table() const; ///< for people, several lines
};

} // namespace weft::engine
