#pragma once

#include <weft/impl/entry.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What a program says about itself for whoever models a machine: docs/modelled-machines.md. On real threads
/// all of it is nothing.
namespace weft {

/// How a task touches data.
enum class access : std::uint8_t { read, write, readwrite };

/// Kinds of work in which the cores of a machine may differ: machines/README.md, core_class.
enum class work : std::uint8_t { general, compute, memory };

/// Declares that the calling task touches `bytes` bytes at `data` now: what it has to wait for is not part of
/// its cost. Throws weft::error for a size above PTRDIFF_MAX, which a negative number turns into, if time is
/// modelled.
inline void touch(const void* data, std::size_t bytes, access how) {
    if (impl::somebody_listens()) [[unlikely]]
        impl::declare_data(data, bytes, static_cast<int>(how));
}

/// Declares what the calling task computes here, with its data at hand: so many cycles of the machine's
/// fastest core. Virtual time passes in this call. In a program that calls it anywhere, code without a
/// declaration takes no time; in others, every stretch of user code takes the processor time that it takes
/// here.
template <class Here = void>
void cost(std::uint64_t cycles, work kind = work::general) noexcept {
    static_cast<void>(impl::this_module_has_costs<Here>::said);
    if (impl::somebody_listens()) [[unlikely]]
        impl::declare_cost(cycles, static_cast<int>(kind));
}

/// Declares that the calling task waits here until so many bytes have come from, or gone to, a disk of the
/// modelled machine: its latency, then the bytes over a fair share of its bandwidth. The worker waits too.
/// Throws weft::error for a disk that the machine does not have.
inline void transfer(std::string_view disk, std::size_t bytes) {
    if (impl::somebody_listens()) [[unlikely]]
        impl::declare_transfer(disk, bytes);
}

/// Declares where data lie that nobody has touched yet, as the program has asked the system for it; without
/// it, with the core that touches them first. Throws weft::error for a node that the modelled machine does
/// not have.
inline void bind_to_node(const void* data, std::size_t bytes, int node) {
    if (impl::somebody_listens()) [[unlikely]]
        impl::declare_home(data, bytes, node);
}
/// The same for data that lie on all memory nodes by turns.
inline void interleave(const void* data, std::size_t bytes) {
    if (impl::somebody_listens()) [[unlikely]]
        impl::declare_home(data, bytes, -1);
}

/// Marks the beginning of outer iteration `k` of a program: policies that learn hear of it, and the children
/// of the calling root are numbered from the start again. In a thread that is no worker it counts for the
/// default runtime. Only a root, between its joins and groups, may call it; elsewhere it throws weft::error.
/// (The one place that it cannot tell from such is the second closure of a root's own join when nobody else
/// took it.)
inline void iteration(int k) { impl::mark_iteration(k); }

} // namespace weft
