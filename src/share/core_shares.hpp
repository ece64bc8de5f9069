#pragma once

#include <span>
#include <vector>

// Callisto's equal shares of the high-priority threads of some cores.
//
//   T. Harris, M. Maas, V. J. Marathe: Callisto: Co-Scheduling Parallel Runtime Systems. EuroSys'14.
//   A. Collins et al., ROSS'15, 5.1: each program has one worker on each core, on each core one worker is of high
//   priority, the shares are equal, and a program's main thread is of high priority.
namespace weft::share {

/// The cores on which each of the programs has the high-priority worker. With no more programs than cores each core belongs
/// to one program, the shares are neighbours, and they differ by one core at most: programs that come first have more. With
/// more programs than cores each program has one core, which several then have: their main threads take turns.
std::vector<std::vector<int>> core_shares(std::span<const int> cores, int programs);

} // namespace weft::share
