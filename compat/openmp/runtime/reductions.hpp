#pragma once

#include <cstddef>
#include <cstdint>

/// Task reductions. The compiled code describes a set of them in blocks of words, which the runtime completes:
///
///   word | from the compiler                       | from the runtime
///   0    | number of reductions                    |
///   1    | bytes of the private copies of a thread |
///   2    | alignment of that                       | the memory for all threads, zeroed
///   3    | allocator                               |
///   4    | the next block, or 0                    | in the last block: the first one of the set around it
///   5    |                                         | 1 in the first block of a set, else 0
///   6    |                                         | the end of the memory
///   7... | for each: address, offset in the copies, (free)
namespace weft::openmp {

struct region;

/// Gives a set its memory. `like`: the same set of another thread of the team, whose memory is used; null: there is none.
/// `around`: the set around it, or null.
void register_reductions(std::uintptr_t* set, const std::uintptr_t* like, int threads,
                         std::uintptr_t* around = nullptr);
/// Takes back a registration that no task has seen.
void discard_reductions(std::uintptr_t* set) noexcept;
/// Frees the memory of a set.
void unregister_reductions(std::uintptr_t* set) noexcept;
/// Replaces each address by that of the private copy of the caller's thread. For the first `originals` of them the original
/// addresses follow behind the first `count`.
void remap_reductions(const region& me, std::size_t count, std::size_t originals, void** addresses);

} // namespace weft::openmp
