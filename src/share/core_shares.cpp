#include "share/core_shares.hpp"

#include <algorithm>
#include <cstddef>

namespace weft::share {

std::vector<std::vector<int>> core_shares(std::span<const int> cores, int programs) {
    const auto count = static_cast<std::size_t>(programs);
    std::vector<std::vector<int>> shares(count);
    for (std::size_t i = 0; i < std::max(cores.size(), count) && !cores.empty(); ++i) {
        // Core i of n belongs to the first program whose share, rounded up, is not used up.
        const std::size_t larger = cores.size() % count, size = cores.size() / count;
        const std::size_t in_larger = larger * (size + 1);
        const std::size_t owner = cores.size() < count ? i
                                  : i < in_larger      ? i / (size + 1)
                                                       : larger + (i - in_larger) / size;
        shares[owner].push_back(cores[i % cores.size()]);
    }
    return shares;
}

} // namespace weft::share
