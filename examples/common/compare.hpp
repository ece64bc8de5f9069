// Numbers of two runs.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace examples {

// Infinite if one of the numbers is none.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = std::fabs(a[i] - b[i]);
        worst = d <= std::numeric_limits<double>::max() ? std::fmax(worst, d)
                                                        : std::numeric_limits<double>::infinity();
    }
    return worst;
}

} // namespace examples
