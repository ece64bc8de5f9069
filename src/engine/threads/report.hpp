#pragma once

#include "engine/observe/tally.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::engine {

/// One run of real threads. What only a trace can tell is not in it: what the runtime took within the busy
/// time.
struct thread_report {
    std::string machine, policy;
    std::uint64_t seed = 0;
    std::string_view misses_from{};       ///< what the policy knows of misses; empty: it did not ask
    std::string_view instructions_from{}; ///< likewise
    tally run{};                          ///< the difference between its end and its beginning

    std::string to_json() const;  ///< one object; docs/reports.md names the keys
    std::string to_table() const; ///< for people, several lines
};

} // namespace weft::engine
