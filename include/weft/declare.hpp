#pragma once

#include <weft/impl/entry.hpp>

#include <cstddef>
#include <cstdint>

namespace weft {

enum class access : std::uint8_t { read, write, readwrite };

/// Declares that the calling task touches `bytes` bytes at `data`. For whoever models or records data; on
/// real threads the hardware sees for itself, and this is nothing.
inline void touch([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes,
                  [[maybe_unused]] access how) noexcept {}

/// Declares that the code since the task's last declaration costs so many cycles, where time is modelled. On
/// real threads this is nothing.
inline void cost(std::uint64_t cycles) noexcept {
    if (impl::models.load(std::memory_order_relaxed) != 0) [[unlikely]]
        impl::declare_cost(cycles);
}

/// Marks the beginning of outer iteration `k` of a program: policies that learn hear of it, and the children
/// of the calling root are numbered from the start again. In a thread that is no worker it counts for the
/// default runtime. Only a root, between its joins and groups, may call it; elsewhere it throws weft::error.
/// (The one place that it cannot tell from such is the second closure of a root's own join when nobody else
/// took it.)
inline void iteration(int k) { impl::mark_iteration(k); }

} // namespace weft
