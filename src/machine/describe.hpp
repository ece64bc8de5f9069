#pragma once

#include "machine/machine.hpp"

#include <cstdint>
#include <string>

namespace weft {

// A tree for people to read, several lines, ending in a newline: packages, domains with their caches, cores
// with ranks; then memory nodes with distances, devices, disks and the cluster. Runs of equal domains are
// folded into one line.
std::string describe(const machine& m);

// "32 KiB", "38.5 MiB", "1000 B": the largest unit that gives at most one decimal, exactly.
std::string bytes_to_string(std::int64_t bytes);

} // namespace weft
