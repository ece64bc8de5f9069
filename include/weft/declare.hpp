#pragma once

#include <weft/impl/entry.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Declarations of a program for modelled machines: docs/modelled-machines.md. On real threads they have no
/// effect.
namespace weft {

/// How a task touches data. `chase`: it reads cache lines one after another, as in a list, where the address of
/// a load is what the load before it has read. `atomic`: it changes cache lines by atomic operations, one after
/// another; a line that another core has is brought over first. In the other cases loads and stores are on
/// their way at the same time. `readwrite`: it works on the data during the next weft::cost; what it only reads or
/// writes it uses once.
enum class access : std::uint8_t { read, write, readwrite, chase, atomic };

/// Kinds of work in which machines may differ: machines/README.md, core_class and model. `vector`: a loop that the
/// compiler made vector instructions of where its cost was measured, which other compilers may not do.
enum class work : std::uint8_t { general, compute, memory, vector };

/// Declares that the calling task touches `bytes` bytes at `data` now. The wait for the data is modelled, and
/// is not part of weft::cost. If time is modelled, throws weft::error for a size above PTRDIFF_MAX, such as a
/// negative number that was converted.
inline void touch(const void* data, std::size_t bytes, access how) {
    if (impl::has_listeners()) [[unlikely]]
        impl::declare_data(data, bytes, static_cast<int>(how));
}

/// Declares that the calling task computes for `cycles` cycles of the machine's fastest core class, with its
/// data in the first-level cache. Virtual time passes in this call. In a program that calls it anywhere, code
/// without a declaration takes no virtual time. In other programs, every stretch of user code takes the
/// processor time that it takes here.
template <class Here = void>
void cost(std::uint64_t cycles, work kind = work::general) noexcept {
    static_cast<void>(impl::this_module_has_costs<Here>::said);
    if (impl::has_listeners()) [[unlikely]]
        impl::declare_cost(cycles, static_cast<int>(kind));
}

/// Declares that the calling task transfers `bytes` bytes to or from a disk of the modelled machine. The call
/// takes the disk's latency, then the time of the bytes at a fair share of its bandwidth. The worker waits
/// too. Throws weft::error for a disk that the machine does not have.
inline void transfer(std::string_view disk, std::size_t bytes) {
    if (impl::has_listeners()) [[unlikely]]
        impl::declare_transfer(disk, bytes);
}

/// Declares that `bytes` bytes at `data`, not touched yet, lie on memory node `node`, as the program has
/// requested from the system. Without it, data lie on the node of the core that touches them first. Throws
/// weft::error for a node that the modelled machine does not have.
inline void bind_to_node(const void* data, std::size_t bytes, int node) {
    if (impl::has_listeners()) [[unlikely]]
        impl::declare_home(data, bytes, node);
}
/// The same for data whose pages lie on all memory nodes in turn.
inline void interleave(const void* data, std::size_t bytes) {
    if (impl::has_listeners()) [[unlikely]]
        impl::declare_home(data, bytes, -1);
}

/// Marks the beginning of outer iteration `k` of a program. Policies that learn are told, and the children
/// of the calling root are numbered from 0 again. In a thread that is no worker, the call applies to the
/// default runtime. Only a root may call it, between its joins and groups; elsewhere it throws weft::error.
/// (It cannot tell that place from the second closure of a join of the root itself, if no thief took the
/// closure.)
inline void iteration(int k) { impl::mark_iteration(k); }

/// Declares that the calling root now writes the data of an iterated program for the first time, with tasks that
/// divide the data as the iterations do: until it marks an iteration, or ends. Policies that place data are told;
/// for them it is iteration -1. Where it may be called: see iteration().
inline void initialisation() { impl::mark_iteration(-1); }

} // namespace weft
