#pragma once

#include "replay/script.hpp"

#include <weft/runtime.hpp>

#include <string>
#include <vector>

namespace weft::replay {

struct played {
    struct batch {
        double seconds;          ///< virtual
        double recorded_seconds; ///< from the beginning of the first root to the end of the last one
        std::string report;      ///< JSON
    };
    std::string machine;
    int workers = 0;
    std::vector<batch> batches{};
    double seconds = 0, recorded_seconds = 0; ///< sums
};

/// Runs the script on a modelled machine. `is_virtual`: the times of the script come from a modelled machine,
/// too. `o.engine` and `o.costs` are set here. Throws weft::error.
played play(const script&, bool is_virtual, runtime_options o);

} // namespace weft::replay
