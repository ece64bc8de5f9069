#pragma once

#include "machine/machine.hpp"
#include "task/task.hpp"

#include <filesystem>
#include <limits>
#include <string_view>
#include <vector>

namespace weft::engine {

/// What happens to a modelled machine while a program runs: others use it too, a core slows down. Virtual
/// times, from the making of the runtime on.
struct scenario {
    static constexpr time_ns for_ever = std::numeric_limits<time_ns>::max();

    struct core_change {
        time_ns from = 0, until = for_ever;
        int rank = 0;
        double speed = 1; ///< of the core's own; those of changes at the same time are multiplied, as is
        double share = 1; ///< the part of its time that others leave
    };
    struct bandwidth_taken {
        time_ns from = 0, until = for_ever;
        int memory_node = 0;
        double gbps = 0; ///< what others take; adds up
    };

    std::vector<core_change> cores{};
    std::vector<bandwidth_taken> nodes{};
};

/// The format is described in docs/modelled-machines.md. Throws weft::error, with the line and the key.
scenario parse_scenario(std::string_view text, std::string_view name, const machine&);
scenario load_scenario(const std::filesystem::path&, const machine&);

} // namespace weft::engine
