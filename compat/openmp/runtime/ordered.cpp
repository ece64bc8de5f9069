#include "runtime/sanitizer.hpp"
#include "runtime/team.hpp"
#include "runtime/work_share.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

/// Order between the iterations of a loop.
///
/// ordered: the turn is a number of an iteration. A thread may enter its ordered region when the turn has come to its chunk,
/// and it passes the turn to the iteration behind the chunk when it has finished the chunk. So chunks without an ordered
/// region wait for their turn, too.
///
/// doacross: each entry counts how far the thread that runs it has come, as the number of the iteration of the whole nest,
/// plus 1. An entry is what one thread runs in order: a chunk of the outermost loop.
namespace weft::openmp {

namespace {

void wait_for_turn(seat& s, work_share& w) {
    const std::uint64_t mine = s.at.begin;
    wait_until(
        &w.turn,
        [&] {
            return w.turn.load(std::memory_order_acquire) >= mine || // pairs with the store in pass_turn()
                   s.of->is_share_cancelled.load(std::memory_order_relaxed) ||
                   s.of->is_cancelled.load(std::memory_order_relaxed);
        },
        patience::some);
    happens_after(&w.turn);
}

} // namespace

void begin_ordered(region& me) {
    work_share& w = *me.on->share;
    if (w.is_ordered && me.on->at.has_chunk) wait_for_turn(*me.on, w);
}

void end_ordered(region&) {} // the turn goes with the chunk

void pass_turn(seat& s, work_share& w) {
    wait_for_turn(s, w);
    happens_before(&w.turn);                           // no event of a tool tells of it
    w.turn.store(s.at.end, std::memory_order_release); // pairs with the load in wait_for_turn()
    wake_all(&w.turn);
}

struct doacross_state {
    unsigned loops = 0;
    std::vector<std::uint64_t> counts{}; ///< of all loops of the nest
    std::uint64_t each = 1;              ///< outer iterations of an entry; 0: those of a thread in blocks
    std::uint64_t blocks = 1;            ///< then: the number of threads
    std::unique_ptr<std::atomic<std::uint64_t>[]> done{};

    std::uint64_t entry_of(std::uint64_t outer) const noexcept {
        if (each) return outer / each;
        const std::uint64_t size = counts[0] / blocks, larger = counts[0] % blocks;
        if (outer < larger * (size + 1)) return outer / (size + 1);
        return larger + (outer - larger * (size + 1)) / size;
    }
    /// The number of the iteration in the nest.
    std::uint64_t number_of(const std::uint64_t* at) const noexcept {
        std::uint64_t n = 0;
        for (unsigned i = 0; i < loops; ++i) n = n * counts[i] + at[i];
        return n;
    }
};

doacross_state* make_doacross(const share_request& r, int threads) {
    auto d = std::make_unique<doacross_state>();
    d->loops = r.doacross_loops;
    d->counts.assign(r.doacross, r.doacross + r.doacross_loops);
    const std::uint64_t n = d->counts[0];
    const bool in_blocks =
        (r.loop.how == schedule_kind::by_static || r.loop.how == schedule_kind::by_auto) && r.loop.chunk == 0;
    d->blocks = static_cast<std::uint64_t>(threads);
    // Chunks of these schedules begin anywhere: every outer iteration is an entry.
    const bool is_uneven =
        r.loop.how == schedule_kind::by_guided || r.loop.how == schedule_kind::by_trapezoid;
    d->each = in_blocks ? 0 : is_uneven ? 1 : std::max<std::uint64_t>(r.loop.chunk, 1);
    const std::uint64_t entries = in_blocks ? d->blocks : n / d->each + 1;
    d->done = std::make_unique<std::atomic<std::uint64_t>[]>(entries);
    return d.release();
}

void free_doacross(doacross_state* d) noexcept { delete d; }

unsigned doacross_dimensions(const region& me) noexcept {
    const doacross_state* const d = me.on->share->doacross;
    return d ? d->loops : 0;
}

void post_doacross(region& me, const std::uint64_t* at) {
    doacross_state& d = *me.on->share->doacross;
    auto& done = d.done[d.entry_of(at[0])];
    const std::uint64_t n = d.number_of(at) + 1;
    if (done.load(std::memory_order_relaxed) >= n) return; // the caller is its only writer
    happens_before(&done);                                 // likewise
    done.store(n, std::memory_order_release);              // pairs with the load in wait_doacross()
    wake_all(&done);
}

void wait_doacross(region& me, const std::uint64_t* at) {
    doacross_state& d = *me.on->share->doacross;
    auto& done = d.done[d.entry_of(at[0])];
    const std::uint64_t n = d.number_of(at) + 1;
    wait_until(
        &done,
        [&] { return done.load(std::memory_order_acquire) >= n; }, // pairs with the store in post_doacross()
        patience::some);
    happens_after(&done);
}

} // namespace weft::openmp
