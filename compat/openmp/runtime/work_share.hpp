#pragma once

#include "runtime/settings.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weft::openmp {

struct team;
struct seat;
struct region;

/// A loop as numbers of iterations: 0 to `count`. What the program counts by (start, step, sign, width) is in the entry
/// points: value = first + index * step, modulo 2^64.
struct loop_shape {
    std::uint64_t count = 0;
    std::uint64_t first = 0;
    std::uint64_t step = 1;
    std::uint64_t last = 0;     ///< where the program says that the loop ends: the end of the last chunk
    std::uint64_t chunk = 0;    ///< 0: none was given
    std::uint64_t multiple = 1; ///< guided: sizes of chunks are multiples of it, but for the last one
    schedule_kind how = schedule_kind::by_static;
};

/// What a thread brings along when it comes to a work-sharing construct. All threads bring the same.
struct share_request {
    loop_shape loop{};
    bool is_ordered = false;
    bool is_sections = false; ///< for a tool: not a loop
    std::uintptr_t* reductions = nullptr;
    std::size_t memory = 0;                  ///< zeroed bytes that the threads share
    const std::uint64_t* doacross = nullptr; ///< counts of the inner loops of a doacross nest
    unsigned doacross_loops = 0;             ///< 0: it is none
};

struct doacross_state;

/// A work-sharing construct that some thread of the team has come to. The constructs of a team form a chain; each thread
/// walks along it at its own pace (nowait). The thread that comes first makes the next link.
///
///   word   | writer                                        | readers         | order
///   next   | the first thread that comes, by an exchange   | the others      | release, acquire
///   passed | each thread, when it goes on to the next link | the last one    | acq_rel: it frees this link
///   taken  | all                                           | all             | relaxed: only numbers are handed out
///   turn   | the thread whose chunk it is                  | the next one    | release, acquire
struct work_share {
    std::atomic<work_share*> next{nullptr};
    std::atomic<int> passed{0};
    bool is_first = false; ///< embedded in the team

    // Written before it is linked.
    loop_shape loop{};
    bool is_ordered = false;
    std::uintptr_t* reductions = nullptr; ///< of the thread that came first
    void* memory = nullptr;
    doacross_state* doacross = nullptr;

    // For a tool.
    bool is_combined = false; ///< with the beginning of the region
    bool is_sections = false;

    std::atomic<std::uint64_t> taken{0}; ///< iterations handed out
    std::atomic<std::uint64_t> turn{0};  ///< ordered: the first iteration that has not had its turn
    std::atomic<void*> copied{nullptr};  ///< copyprivate; the barrier orders it
};

/// Where a thread is in a loop.
struct loop_position {
    std::uint64_t begin = 0, end = 0; ///< its present chunk
    bool has_chunk = false;
    std::uint64_t trip = 0; ///< chunks so far, of a static schedule
};

/// Goes on to the next construct of the team. True if the caller is the first thread that comes to it.
bool enter_share(region& me, const share_request&);
/// The next chunk of the present loop: false if there is none. Waits for the turn of the chunk before if it is ordered.
bool next_chunk(region& me, std::uint64_t& begin, std::uint64_t& end);
/// A link of this content, which no thread knows yet.
void prepare(work_share&, const share_request&, int threads);
/// Frees the links that are left when a team has ended.
void free_shares(team&) noexcept;

// ---- ordered.cpp
void begin_ordered(region& me);
void end_ordered(region& me);
/// The chunk of the thread is over.
void pass_turn(seat&, work_share&);
doacross_state* make_doacross(const share_request&, int threads);
void free_doacross(doacross_state*) noexcept;
void post_doacross(region& me, const std::uint64_t* at);
void wait_doacross(region& me, const std::uint64_t* at);
unsigned doacross_dimensions(const region& me) noexcept;

} // namespace weft::openmp
