#include "engine/team/molding.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/ranks.hpp"
#include "engine/worker/task_record.hpp"
#include "queue/sync.hpp"
#include "task/sanitizers.hpp"

#include <array>
#include <atomic>
#include <cassert>
#include <cstring>
#include <utility>

namespace weft::engine {

using impl::worker;

namespace {

/// The shares in the order of their ranks, with the bytes that the policy has in the task; records that are not needed go
/// back to the worker.
std::span<task* const> split(worker& w, task& t, int width, std::array<task*, max_width>& shares) {
    shares[0] = &t;
    int made = 1;
    for (task* spare = std::exchange(t.spare_, nullptr); spare;) {
        task& s = *std::exchange(spare, spare->spare_);
        s.spare_ = nullptr;
        if (made == width) {
            free_task(&w, s);
            continue;
        }
        shares[static_cast<std::size_t>(made++)] = &s;
        if (const std::size_t bytes = w.engine.need.task_bytes) sanitizer::copy_unseen(&s + 1, &t + 1, bytes);
        charge(w, operation::spawn);
        note_spawn(w, s, trace::origin::share, reinterpret_cast<const void*>(std::uintptr_t{t.number_}), 0);
    }
    for (int i = 0; i < width; ++i) {
        task& s = *shares[static_cast<std::size_t>(i)];
        s.molds_ = false;
        s.share_ = true;
        s.rank_ = static_cast<std::int16_t>(i);
        s.width_ = static_cast<std::int16_t>(width);
    }
    return std::span(shares).first(static_cast<std::size_t>(width));
}

} // namespace

void mold(worker& w, task& t) noexcept {
    const sanitizer::unseen of_policies;
    arena& a = w.arena();
    const elastic_place at = a.scheduler->mold(w.local, t);
    assert(at.leader >= 0 && at.width >= 1 && at.leader + at.width <= a.size());
    assert(at.width <= w.engine.need.most_width);
    // Before a worker can get a share; the policy's lock publishes it. (M1)
    t.claim_->shares_left.store(at.width, std::memory_order_relaxed);
    t.group_->open_.fetch_add(at.width - 1, std::memory_order_relaxed); // above 0: `t` is open (G1)
    if (a.is_team())
        for (int i = 1; i < at.width; ++i) a.retain();
    std::array<task*, max_width> room;
    const auto shares = split(w, t, at.width, room);
    a.scheduler->assemble(w.local, shares, at);
    // From here on shares may run, and `t` may have ended. (M2)
    queue::std_sync::fence(std::memory_order_seq_cst); // between assemble() and the read of the number (M4)
    const int active = a.active_count.load(std::memory_order_relaxed);
    for (int i = 0; i < at.width; ++i) {
        const worker_id v = at.leader + i;
        if (v == w.local) continue;
        if (v < active)
            w.host.announce(w, {.at = v, .who = {v, v + 1}});
        else
            w.engine.teams.call(*a.members[rank(v)]);
    }
}

} // namespace weft::engine
