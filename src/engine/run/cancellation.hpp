#pragma once

#include <weft/impl/group.hpp>

#include <atomic>

namespace weft::engine {

/// The number of groups of the process that are cancelled at the moment. While it is 0, no check looks at the
/// groups around a group.
inline std::atomic<int> cancelled_groups{0};

/// Relaxed: a worker that learns of the cancellation late starts one child more.
inline bool is_cancelled(const group* g) noexcept {
    if (cancelled_groups.load(std::memory_order_relaxed) == 0) [[likely]]
        return false;
    for (; g; g = g->around_)
        if (g->flags_.load(std::memory_order_relaxed) & group::flag_cancelled) return true;
    return false;
}

/// The flags that `g` has for its wait. Afterwards the group is ready for reuse.
inline std::uint32_t take_flags(group& g) noexcept {
    const std::uint32_t flags = g.flags_.exchange(0, std::memory_order_relaxed);
    if (flags & group::flag_cancelled) cancelled_groups.fetch_sub(1, std::memory_order_relaxed);
    // Its next children may differ.
    if (flags & group::flag_wide) g.handovers_.store(0, std::memory_order_relaxed);
    return flags;
}

} // namespace weft::engine
