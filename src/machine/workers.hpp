#pragma once

#include "machine/machine.hpp"

#include <optional>
#include <vector>

namespace weft {

// How many workers to start if the program does not say it: one for each rank, but not more than the
// processor quota of the process, rounded to the nearest whole number (halves upwards) and at least 1. Half a
// core gives 1, 2.4 cores give 2, 2.5 give 3. Rounding down would leave up to a whole core unused; rounding
// up would let the group run out of its quota early in each period (100 ms by default), which stops all
// workers at once, perhaps one that holds what the others wait for. At a half or more the first loss is the
// larger one.
int default_workers(const machine& m);

// The same for a number of cores and a quota.
int workers_within(int cores, std::optional<double> quota);

// How many processing units the calling thread may use, by its affinity mask and the quota of the process,
// whatever machine is described: cheap, and read anew at each call.
int usable_cores();

// compact: fill one core after the other, so that few domains are used.
// scatter: spread over packages, then domains, then cores, and use second hyperthreads last, so that each
// worker has as much cache and bandwidth as the machine can give.
enum class pin_order { compact, scatter };

// The ranks that the given number of workers take, ascending. With compact, too, a second hyperthread of a
// core is taken only where the count exceeds the number of cores. Throws weft::error for a count outside 1 to
// m.size().
std::vector<int> ranks_for(const machine& m, int workers, pin_order how);

// The machine that is left with only these ranks, renumbered from 0 in the same order: what a runtime with
// fewer workers than ranks gives to its policy. Caches, domains and packages without ranks vanish; a memory
// node without ranks stays, as one that is only memory, and so do all matrices between nodes. Ranks must
// ascend.
machine restrict_to(const machine& m, const std::vector<int>& ranks);

} // namespace weft
