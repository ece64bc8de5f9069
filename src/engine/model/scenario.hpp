#pragma once

#include "machine/machine.hpp"
#include "task/task.hpp"

#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

namespace weft::engine {

/// What happens to a modelled machine while a program runs: other programs use it, a core slows down. Times
/// are virtual, in nanoseconds since the runtime was made.
struct scenario {
    static constexpr time_ns for_ever = std::numeric_limits<time_ns>::max();

    struct core_change {
        time_ns from = 0, until = for_ever;
        int rank = 0;
        double speed = 1; ///< factor of the core's own speed; changes at the same time multiply
        double share = 1; ///< part of the core's time that other programs leave; likewise
    };
    struct bandwidth_taken {
        time_ns from = 0, until = for_ever;
        int memory_node = 0;
        double gbps = 0; ///< that other programs take; changes at the same time add up
    };

    std::vector<core_change> cores{};
    std::vector<bandwidth_taken> nodes{};
};

/// docs/modelled-machines.md describes the format. Both throw weft::error, which names the line and the key.
scenario parse_scenario(std::string_view text, std::string_view name, const machine&);
scenario load_scenario(const std::filesystem::path&, const machine&);

} // namespace weft::engine
