#include "engine/worker/arena.hpp"

#include "engine/ports/host.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/task_watch.hpp"
#include "machine/workers.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::engine {

arena::arena(weft::engine::engine& e, unsigned n, std::size_t size)
    : engine(e)
    , number(n)
    , searching(size)
    , parked(size)
    , active_count(static_cast<int>(size)) {
    members.reserve(size);
}

arena::~arena() = default;

void arena::watch_if_needed(const requirements& need) {
    if (!need.snapshots) return;
    watch_ = std::make_unique<task_watch>(*scheduler, *this);
    scheduler = watch_.get();
}

snapshot arena::running(worker_id w) const {
    assert(watch_); // requirements::snapshots
    return watch_ ? watch_->running(w) : snapshot{};
}

int arena::core_of(worker_id w) const {
    return core_of_.empty() ? members[rank(w)]->core() : core_of_[rank(w)];
}

// A worker with a token of the gate is one of a certain cell (T1), so no cores change while a token is out. A task that is
// bound to certain ranks has woken a worker that was there: it may be elsewhere now, so both look again.
bool arena::exchange(worker_id a, worker_id b) {
    worker &x = *members[rank(a)], &y = *members[rank(b)];
    const bool done = engine.gate.with_workers(*this, [&](bool none_is_out) {
        const bool can = none_is_out && &x != &y && !is_team() && engine.host.exchange_cores(x, y);
        for (worker* const w : {&x, &y}) (can ? w->count.exchanges : w->count.refused_exchanges).add();
        if (can && engine.tracer) note_exchange(*engine.tracer, x, y);
        return can;
    });
    if (done && engine.gate.has_bound())
        for (const worker_id w : {a, b}) wake({w, w + 1});
    return done;
}

void arena::add_member(worker& w, const machine& m) {
    members.push_back(&w);
    add(m, w.core());
}

void arena::attach(std::unique_ptr<policy> p, const machine& m) {
    std::vector<int> cores;
    for (const worker* w : members) cores.push_back(w->core());
    std::ranges::sort(cores);
    cores.erase(std::ranges::unique(cores).begin(), cores.end());
    core_of_.clear(); // ranks of the cores of the restricted machine
    for (const worker* w : members)
        core_of_.push_back(static_cast<int>(std::ranges::lower_bound(cores, w->core()) - cores.begin()));
    on_ = std::make_unique<machine>(restrict_to(m, cores));
    own_ = std::move(p);
    scheduler = own_.get();
    watch_if_needed(scheduler->attach(*on_, *this)); // its needs are those of the engine's own instance
}

bool arena::try_retain(std::uint32_t incarnation) noexcept {
    std::uint64_t now = open_.load(std::memory_order_relaxed); // the exchange decides
    while (now >> 32 == incarnation && static_cast<std::uint32_t>(now) > 0)
        if (open_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
    return false;
}

void arena::start_team(std::uint32_t references) noexcept {
    const std::uint64_t next = std::uint64_t{incarnation() + 1} << 32;
    // relaxed: published to the members when they are called
    open_.store(next | references, std::memory_order_relaxed);
}

int arena::idle_in(int of_cell) const noexcept {
    int idle = 0;
    for (int r = 0; r < size(); ++r)
        if (cell_of(members[rank(r)]->core()) == of_cell &&
            (searching.contains(rank(r)) || parked.contains(rank(r))))
            ++idle;
    return idle;
}

time_ns arena::now() const { return engine.host.now(); }
std::uint32_t arena::random(worker_id w, std::uint32_t below) {
    return engine.host.draw(*members[rank(w)], below);
}
void arena::wake(workers range) { engine.teams.wake_in(*this, range); }

} // namespace weft::engine
