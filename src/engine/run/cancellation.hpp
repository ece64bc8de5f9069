#pragma once

#include <weft/impl/group.hpp>

#include <atomic>

namespace weft::engine {

/// Groups of the process that are cancelled at the moment. While there are none, nobody looks around a group.
inline std::atomic<int> cancelled_groups{0};

/// Relaxed: who is told late starts a child more.
inline bool is_cancelled(const group* g) noexcept {
    if (cancelled_groups.load(std::memory_order_relaxed) == 0) [[likely]]
        return false;
    for (; g; g = g->around_)
        if (g->flags_.load(std::memory_order_relaxed) & group::flag_cancelled) return true;
    return false;
}

/// What `g` has to tell its wait; it is ready for reuse.
inline std::uint32_t take_flags(group& g) noexcept {
    const std::uint32_t flags = g.flags_.exchange(0, std::memory_order_relaxed);
    if (flags & group::flag_cancelled) cancelled_groups.fetch_sub(1, std::memory_order_relaxed);
    return flags;
}

} // namespace weft::engine
