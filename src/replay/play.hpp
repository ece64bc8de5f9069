#pragma once

#include "replay/script.hpp"

#include <weft/programs.hpp>
#include <weft/runtime.hpp>

#include <stdexcept>
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

/// The tasks of a script wait for each other, which no recorded run can have done.
struct endless_wait : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Runs the script on a modelled machine. `is_virtual`: the times of the script come from a modelled machine,
/// too. `o.engine` and `o.costs` are set here. Throws weft::error, and endless_wait after two seconds in which no task
/// could go on; the stacks of the tasks stay to the end of the process.
played play(const script&, bool is_virtual, runtime_options o);

/// A script that runs beside others, under a policy of its own.
struct beside {
    const script* what;
    bool is_virtual;
    std::string policy{};
};

/// Runs the scripts beside each other on one modelled machine, as run_together() says, each again and again. `o.engine`,
/// `o.costs`, `o.policy` and `o.beside` are set here. Throws weft::error, and endless_wait as play() does.
together_stats play_together(const std::vector<beside>&, runtime_options o, const together_options&);

} // namespace weft::replay
