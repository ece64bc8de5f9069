#pragma once

#include <weft/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace weft::impl {

/// Whether no element of [0, n) is before its predecessor. `is_before(i, j)` may throw.
template <class IsBefore>
bool is_in_order(std::ptrdiff_t n, const loop_options& options, IsBefore&& is_before) {
    constexpr std::ptrdiff_t block = 16'384,
                             stretch = 1024; // a look at the flag of the other blocks in between
    std::atomic<bool> so_far{true};
    parallel_for(
        std::ptrdiff_t{0}, (n + block - 1) / block,
        [&](std::ptrdiff_t b) {
            const std::ptrdiff_t last = std::min(n, (b + 1) * block);
            for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(1, b * block); i < last;) {
                if (!so_far.load(std::memory_order_relaxed)) return;
                for (const std::ptrdiff_t end = std::min(last, i + stretch); i < end; ++i)
                    if (is_before(i, i - 1)) return so_far.store(false, std::memory_order_relaxed);
            }
        },
        options);
    return so_far.load(std::memory_order_relaxed); // the loop has ended
}

} // namespace weft::impl
