#pragma once

#include "machine/machine.hpp"

#include <optional>
#include <span>
#include <vector>

namespace weft {

constexpr double least_speed = 0.01; // of an emulated core

// A machine with a core of each of these speeds, in this order. It is `m` itself with other core classes, if `m` has as many
// cores; the first cores of `m` (compact), if it has more. If it has fewer: a machine of one package and one memory node, whose
// cores are like the first of `m` and share its last cache; none of them is a core of this computer (machine::is_modelled).
machine with_speeds(const machine& m, std::span<const double> speeds);

// How workers of such speeds run on processing units of one speed, by rank of their core.
struct emulated_speeds {
    std::vector<double> speeds{}; // as asked
    std::vector<double>
        shares{};            // of its processing unit, that the worker on the core has: speed times scale
    std::vector<int> cpus{}; // the processing unit, as the operating system calls it; empty: any
    double scale = 1;        // the greatest, at most 1, with which all workers find room

    bool empty() const { return shares.empty(); }
};

// The part of a processing unit that several workers may have together. The rest is for what emulation itself takes, and for
// the thread that begins and ends the runs.
inline constexpr double most_of_a_shared_cpu = 0.94;

// Spreads the workers over `cpus`, the fastest first, each to the unit that is taken least; one that is a core of this
// computer stays there. `pinned`: else the workers share all units, and `cpus` of the result is empty.
emulated_speeds emulate_speeds(const machine&, std::span<const double> speeds, std::span<const int> cpus,
                               std::optional<double> quota, bool pinned);

// The processing units that the calling thread may use.
std::vector<int> usable_cpus();

} // namespace weft
