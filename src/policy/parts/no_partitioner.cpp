#include "policy/parts/partitioner.hpp"

#include <weft/error.hpp>

namespace weft {

void require_partitioner() {
    throw error(
        "a profile can only be followed by a Weft that was built with METIS", "a build without METIS",
        "a build with it (Debian's package libmetis-dev; the CMake option WEFT_METIS=ON), or profile=none");
}

std::vector<std::size_t> partition(const std::vector<std::vector<sharing_graph::edge>>&,
                                   const std::vector<double>&, std::size_t) {
    require_partitioner();
    return {};
}

} // namespace weft
