#pragma once

#include <vector>

namespace weft {

/// The processing units, by the numbers of the operating system, that share a last-level cache with one of `cpus`, without
/// these: also those that the affinity mask of this process leaves out. Where the system does not tell caches: those of the
/// same package. `whole_machine`: all that are online. Empty if the system tells nothing.
std::vector<int> neighbours_of(const std::vector<int>& cpus, bool whole_machine);

} // namespace weft
