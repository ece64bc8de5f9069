#pragma once

#include "engine/model/scenario.hpp"
#include "machine/machine.hpp"
#include "task/task.hpp"

#include <vector>

namespace weft::engine {

/// The speed of the cores of a modelled machine over virtual time. Work is measured in the nanoseconds that
/// it takes on a core of speed 1.
class core_speed {
public:
    core_speed(const machine&, const scenario&);

    /// The nanoseconds that `work` takes on the core of that rank if it begins `fraction` ns after `start`.
    double duration(int rank, double work, work_kind, time_ns start, double fraction = 0) const;

    /// The work that the core of that rank does from `fraction` ns after `start` until `end`.
    double work_until(int rank, work_kind, time_ns start, double fraction, time_ns end) const;

    /// The part of the core's time that the program has at `at`, in (0, 1]. While the program has none, the part
    /// that it will have next.
    double share(int rank, time_ns at) const;

    /// The work of so many cycles on the machine where the costs were measured: cycles of the fastest core
    /// class, unless the machine says that it does more or less work in a cycle. `is_vector`: vector
    /// instructions took these cycles.
    double work_of_cycles(double cycles, bool is_vector = false) const noexcept {
        return cycles * (is_vector ? vector_cycle_work_ : cycle_work_);
    }

private:
    struct piece {
        time_ns from;
        double speed; ///< factor of the core's own speed
        double share;
    };

    const machine& on_;
    double cycle_work_, vector_cycle_work_;
    /// By rank, ascending in time; empty: always the core's own speed. In the last piece of a rank the core runs,
    /// which parse_scenario() checks.
    std::vector<std::vector<piece>> pieces_;
};

} // namespace weft::engine
