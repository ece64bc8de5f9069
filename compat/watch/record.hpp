#pragma once

/// What the library writes: one file, mapped, of a fixed size. python/weft/why/watch.py reads it.
///
///     header | places | samples
///
/// A place is one stack in one state (on a core, or blocked in one kind of call), with sums over all the times that a
/// thread was seen there. A sample is one such time. Places and samples that find no room are counted.
#include <array>
#include <atomic>
#include <cstdint>

namespace weft::watch {

inline constexpr std::array<char, 8> magic = {'w', 'e', 'f', 't', 'w', 'c', 'h', '\n'};
inline constexpr std::uint32_t version = 2;
inline constexpr std::uint32_t place_count = 1u << 14; ///< a power of two
inline constexpr std::uint32_t sample_count = 1u << 18;
inline constexpr std::uint32_t most_frames = 25;
inline constexpr std::uint32_t no_place = ~std::uint32_t{0};

/// The states of a thread. Python knows them by these numbers.
enum class state : std::uint32_t {
    on_core,   ///< it ran, at a tick of its processor time
    mutex,     ///< a pthread_mutex_t: std::mutex, std::recursive_mutex
    rwlock,    ///< std::shared_mutex
    condition, ///< a condition variable
    semaphore,
    barrier,
    sleep,
    transfer, ///< read, write and the like
    poll,     ///< it waits until one of several files is ready
    join,     ///< it waits for the end of a thread or of a process
    futex,    ///< a direct call: std::atomic::wait, std::counting_semaphore, std::latch
};

/// Written by one thread (`free` to `being_made` to `made`), then only its sums change.
struct place {
    static constexpr std::uint32_t free = 0, being_made = 1, made = 2;

    std::atomic<std::uint32_t>
        phase; ///< a release store of `made` pairs with the acquire loads of other threads
    state what;
    std::uint32_t depth;
    std::atomic<std::uint32_t>
        holder; ///< mutex: the place where its holder had waited for it, at the last time
    std::atomic<std::uint64_t> times;
    std::atomic<std::uint64_t> ns;      ///< sum; on a core: processor time since the thread's sample before
    std::atomic<std::uint64_t> longest; ///< ns
    std::atomic<std::uint64_t> object;  ///< address of the lock or the like, at the last time
    std::atomic<std::uint64_t>
        faults; ///< on a core: pages that the system gave the thread, since its sample before
    std::atomic<std::uint64_t>
        system_ns; ///< on a core: the part of `ns` that was in the kernel, by its ticks
    std::uint64_t
        frames[most_frames]; ///< innermost first: return addresses; on a core frames[0] is where it was
};
static_assert(sizeof(place) == 264);

struct sample {
    std::uint64_t end;    ///< nanoseconds since 1970
    std::uint64_t ns;     ///< as in `place::ns`
    std::uint32_t thread; ///< its number in the system
    std::uint32_t place;
};
static_assert(sizeof(sample) == 24);

struct header {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t process;
    std::uint32_t place_count;
    std::uint32_t sample_count;
    std::atomic<std::uint64_t> samples; ///< number that came; those above sample_count are not in the file
    std::atomic<std::uint64_t> lost;    ///< times that found no room for their place
    std::atomic<std::uint64_t>
        short_times; ///< waits of less than `shortest_wait_ns`, whose place is not noted
    std::atomic<std::uint64_t> short_ns;
    std::atomic<std::uint32_t> threads;   ///< that were sampled
    std::atomic<std::uint32_t> unsampled; ///< threads for which the kernel gave no timer
};
static_assert(sizeof(header) == 64);

/// Waits below this are summed without a place: taking their stack would cost as much.
inline constexpr std::uint64_t shortest_wait_ns = 2000;

} // namespace weft::watch
