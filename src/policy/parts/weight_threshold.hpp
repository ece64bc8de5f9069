#pragma once

#include "policy/seam/policy.hpp"

#include "queue/cell.hpp"

#include <bit>
#include <cstdint>

/// Whether a task gains enough from a big core to get one.
///
///   XiTAO (elastic_places.hpp), section 3.2.2: weight = time on LITTLE / time on big; above the threshold the task goes to a
///   big core. The threshold starts at 1.5, and after each comparison it is (weight + 6 * threshold) / 7.
///
/// A weight that equals the threshold means LITTLE, and a time that was never measured is to be measured first: the threshold
/// stays as it is. The source says neither.
namespace weft {

class weight_threshold {
public:
    enum class side : std::uint8_t { big, little };

    side judge(time_ns on_big, time_ns on_little) noexcept {
        if (on_big == 0) return side::big;
        if (on_little == 0) return side::little;
        const double weight = static_cast<double>(on_little) / static_cast<double>(on_big);
        std::uint64_t seen = now_.load_relaxed();
        for (;;) { // several workers may compare at once: each comparison counts
            const auto threshold = std::bit_cast<double>(seen);
            const double moved = (weight + 6 * threshold) / 7;
            if (now_.compare_exchange(seen, std::bit_cast<std::uint64_t>(moved)))
                return weight > threshold ? side::big : side::little;
        }
    }
    double threshold() const noexcept { return std::bit_cast<double>(now_.load_relaxed()); }

private:
    queue::cell<std::uint64_t> now_{std::bit_cast<std::uint64_t>(1.5)};
};

} // namespace weft
