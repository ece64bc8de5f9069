#pragma once

#include <algorithm>
#include <cmath>

/// The work of a group that its children have not taken yet: how a range is shared between them.
///
///   S. Shiina, master's thesis, University of Tokyo 2021, 4.3.2.
///
/// It is kept in the bytes of the group, and only the worker that spawns the next child touches it. All zero
/// means that nothing is known. What was measured in an earlier run of the group counts before the hints.
namespace weft {

struct remaining_work {
    double hinted;
    double measured; ///< in an earlier run
    bool has_hint;

    static double usable(double work) noexcept { return std::isfinite(work) && work > 0 ? work : 0; }

    static remaining_work of_group(double hint) noexcept { return {usable(hint), 0, usable(hint) > 0}; }

    /// Takes a child that was measured too out of the rest. Returns what is left after it over that with it.
    double after_measured(double took) noexcept { return after(measured, took); }

    /// The same by the hint of the child. Where hints are missing: if the number of children is known, they
    /// share what is left equally, else each gets half of it. `others` is how many come after this one.
    double after_hinted(double work, int others) noexcept {
        const double equal = others > 0 ? static_cast<double>(others) / (others + 1) : .5;
        if (!has_hint) return equal;
        const double of_child = usable(work);
        return after(hinted, of_child > 0 ? of_child : hinted * (1 - equal));
    }

private:
    static double after(double& left, double work) noexcept {
        left = std::max(left - work, 0.);
        return left + work > 0 ? left / (left + work) : .5;
    }
};

} // namespace weft
