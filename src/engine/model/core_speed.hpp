#pragma once

#include "engine/model/scenario.hpp"
#include "machine/machine.hpp"

#include <vector>

namespace weft::engine {

/// How fast the cores of a modelled machine are, over virtual time. Work is measured in the nanoseconds that
/// it takes on a core of speed 1.
class core_speed {
public:
    core_speed(const machine&, const scenario&);

    /// How long `work` takes that begins at `start` on that rank, in nanoseconds.
    double duration(int rank, double work, work_kind, double start) const;

    /// The part of that core's time that the program has, (0, 1]. While it has none: what it will have next.
    double share(int rank, double at) const;

    /// The work that takes so many cycles where costs were measured: of the fastest core class, unless the
    /// machine says that it does more or less in a cycle.
    double work_of_cycles(double cycles) const noexcept { return cycles * cycle_work_; }

private:
    struct piece {
        double from;
        double speed; ///< of the core's own
        double share;
    };

    const machine& on_;
    double cycle_work_;
    std::vector<std::vector<piece>> pieces_; ///< by rank, ascending; empty: the core's own speed always
};

} // namespace weft::engine
