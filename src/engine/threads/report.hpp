#pragma once

#include "engine/observe/busy_parts.hpp"
#include "engine/observe/tally.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

/// One run on real threads, or several one after the other. The share of the runtime within the busy time is not in it:
/// only a trace can tell that.
struct thread_report {
    std::string machine, policy;
    std::uint64_t seed = 0;
    bool callers_work = true;       ///< external threads may take the places of workers
    std::string_view misses_from{}; ///< the source of the misses that the policy sees; empty: it did not ask
    std::string_view instructions_from{}; ///< likewise, of the instructions
    bool changes_cores = false;           ///< requirements::exchanges
    bool preempts = false;                ///< some task may be preempted
    std::vector<double> speeds{};         ///< emulated, by worker; empty: none are
    double scale = 1; ///< by which all of them were multiplied, so that they fit on the cores
    tally run{};      ///< the difference between the end of the run and its beginning

    std::vector<busy_parts> parts{}; ///< of the busy time, by worker; empty: unknown

    std::string to_json() const;  ///< one object; docs/reports.md names the keys
    std::string to_table() const; ///< for people, several lines
};

} // namespace weft::engine
