#include "engine/team/teams.hpp"

#include "engine/ports/team_host.hpp"
#include "engine/team/admission.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/flow.hpp"
#include "engine/worker/notes.hpp"
#include "task/sanitizers.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace weft::engine {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

enum class kind_of_arena : worker_id { team = -1, region = -2 };

/// The arena for these members of `outer`, which are in the order of their ranks, on their present cores. Makes it at
/// first use.
arena& arena_of(engine& e, arena& outer, const std::vector<worker*>& members, kind_of_arena kind) {
    std::vector<worker_id> key{static_cast<worker_id>(kind), static_cast<worker_id>(outer.number)};
    for (const worker* w : members) { // its machine is that of their cores
        key.push_back(w->id);
        key.push_back(w->core());
    }
    const std::lock_guard guard(e.team_arenas_lock);
    if (const auto found = e.team_arenas.find(key); found != e.team_arenas.end()) return *found->second;
    const auto number = static_cast<unsigned>(e.team_arenas.size() + 1);
    auto a = std::make_unique<arena>(e, number, members.size());
    a->outer = &outer;
    a->borrowed.assign(outer.cells.size(), 0);
    for (worker* w : members) {
        a->add_member(*w, e.machine);
        a->outer_rank.push_back(w->local);
        if (kind == kind_of_arena::team) ++a->borrowed[at(outer.cell_of(w->core()))];
    }
    a->attach(e.make_policy(), e.machine);
    return *e.team_arenas.emplace(std::move(key), std::move(a)).first->second;
}

/// Makes the other shares of a moldable task, which the other members start. `t` is the first member's share.
void make_shares(worker& w, task& t, const core_request& r) {
    group& of = *t.group_;
    t.claims_ = false;                                              // the last share gives the claim back
    t.claim_->shares_left.store(r.size, std::memory_order_relaxed); // published when they are called
    of.open_.fetch_add(r.size - 1, std::memory_order_relaxed);      // above 0: `t` is open (G1)
    for (int i = 0; i < r.size; ++i) {
        task& s = i == 0 ? t : make_flow_share(&w, w.engine, t);
        s.share_ = true;
        if (i > 0)
            note_spawn(w, s, trace::origin::share, reinterpret_cast<const void*>(std::uintptr_t{t.number_}),
                       0);
        s.rank_ = static_cast<std::int16_t>(i);
        s.width_ = static_cast<std::int16_t>(r.size);
        r.joined[at(i)]->share = &s;
    }
}

/// All members have joined. `w`, the last of them, starts the team in its arena and calls the others in.
arena& form(worker& w, core_request& r) noexcept {
    std::vector<worker*> members = r.joined;
    std::ranges::sort(members, {}, [](const worker* m) { return m->id; });
    arena& a = arena_of(w.engine, w.arena(), members, kind_of_arena::team);
    a.calls.store(0, std::memory_order_relaxed); // published with the calls below, as is all of this
    task& t = *r.of;
    // The task now comes to another instance of the policy.
    sanitizer::clear_unseen(&t + 1, w.engine.need.task_bytes);
    if (r.is_shared) make_shares(w, t, r);
    a.start_team(r.is_shared ? static_cast<std::uint32_t>(r.size) : 1);
    for (worker* m : a.members)
        if (m->share) m->share->arena_ = &a;
    if (!r.is_shared) {
        t.arena_ = &a;
        t.arrives_as_ = static_cast<std::uint8_t>(ready_reason::released);
        a.inbox.push(&t);
    }
    // After the first call the task may end, and the request with it.
    for (worker* m : a.members) {
        if (m == &w) continue;
        m->called_into.store(&a, std::memory_order_seq_cst); // before call() looks at its parker
        w.engine.teams.call(*m);
    }
    return a;
}

void enter(worker& w, arena& a) noexcept {
    const auto own = std::ranges::lower_bound(a.members, w.id, {}, [](const worker* m) { return m->id; });
    w.local = static_cast<worker_id>(own - a.members.begin());
    w.arena_now.store(&a, std::memory_order_seq_cst);
}

void leave(worker& w) noexcept {
    arena& team = w.arena();
    arena& back = *team.outer;
    // Only a region has one, which its one worker takes. The members of a team leave at the same time.
    w.share = team.leader ? std::exchange(team.leader, nullptr) : nullptr;
    w.local = team.outer_rank[at(w.local)];
    w.arena_now.store(&back, std::memory_order_seq_cst); // before it looks at the sleepers (T4)
    queue::std_sync::fence(std::memory_order_seq_cst);
    // The team may have thrown away the standing asks of workers that parked meanwhile. (T4)
    back.parked.for_each([&](std::uint32_t r) { w.askers.insert(rank(back.members[r]->id)); });
}

/// True if the worker has joined; `full` is the request if it was the last to come.
bool join_request(worker& w, core_request*& full) noexcept {
    arena& a = w.arena();
    const int cell = a.cell_of(w.core());
    const std::lock_guard guard(a.requests_lock);
    for (core_request** r = &a.requests; *r; r = &(*r)->next) {
        if ((*r)->got[at(cell)] == 0) continue;
        --(*r)->got[at(cell)];      // T1
        (*r)->joined.push_back(&w); // room was made when it was added (T2)
        if (static_cast<int>((*r)->joined.size()) == (*r)->size) {
            full = *r;
            *r = full->next;
            a.calls.fetch_sub(1, std::memory_order_relaxed); // a worker that sees it late finds no request
        }
        return true;
    }
    return false;
}

} // namespace

void publish(worker& w, task& t) {
    arena& a = w.arena();
    core_request& r = t.claim_->cores;
    r.rank = w.core();
    r.of = &t;
    r.joined.clear();
    r.next = nullptr;
    const std::vector<int> wanted = r.got; // once the lock is released, the request may be complete and gone
    {
        const std::lock_guard guard(a.requests_lock);
        core_request** last = &a.requests;
        while (*last) last = &(*last)->next;
        *last = &r;
        a.calls.fetch_add(1, std::memory_order_seq_cst);
    }
    w.engine.teams.wake_for_team(a, wanted);
}

bool is_called(const worker& w) noexcept {
    const arena& a = w.arena();
    if (!a.has_calls()) return false;
    const int cell = a.cell_of(w.core());
    const std::lock_guard guard(a.requests_lock);
    for (const core_request* r = a.requests; r; r = r->next)
        if (r->got[at(cell)] > 0) return true;
    return (a.calls.load(std::memory_order_relaxed) & arena::team_ended) != 0;
}

bool follow_call(worker& w) {
    if (w.arena().calls.load(std::memory_order_acquire) & arena::team_ended) { // pairs with release_team()
        w.engine.teams.leave_search(w);
        leave(w);
        return true;
    }
    core_request* full = nullptr;
    if (!join_request(w, full)) return false;
    w.engine.teams.leave_search(w);
    if (full) {
        enter(w, form(w, *full));
        return true;
    }
    w.engine.teams.await_team(w);
    // acquire: all of the arena, and the share; pairs with form()
    arena* const a = w.called_into.exchange(nullptr, std::memory_order_acquire);
    if (a) enter(w, *a); // else the engine stops
    return true;
}

arena& arena_of_region(worker& w) {
    if (!w.engine.make_policy)
        throw error("a region needs an instance of the policy for itself",
                    "an engine with a policy that was made outside", "a runtime");
    return arena_of(w.engine, w.arena(), {&w}, kind_of_arena::region);
}

void enter_region(worker& w, arena& region, task& leader) noexcept {
    if (w.arena().is_team()) w.arena().retain();      // until the region has ended, in release_team()
    region.calls.store(0, std::memory_order_relaxed); // its worker is the only one that reads it
    region.leader = &leader;
    region.start_team(1);
    enter(w, region);
}

void release_team(worker& w, arena& a) {
    const sanitizer::unseen gate_and_claims;
    if (!a.release()) return;
    arena& back = *a.outer;
    gate::released out;
    w.engine.gate.give_back_cores(w.core(), back, a.borrowed, out);
    // (T5)
    a.calls.fetch_or(arena::team_ended, std::memory_order_seq_cst); // before the sleepers are looked for
    w.engine.teams.wake_in(a, {0, a.size()});
    offer_released(w, out);
    // The team's task was counted in the arena around it.
    if (back.is_team()) release_team(w, back);
}

std::string teams_to_string(const engine& e) {
    std::string text;
    const auto of = [&](const arena& a) {
        text += e.gate.to_string(a);
        const std::lock_guard guard(a.requests_lock);
        for (const core_request* r = a.requests; r; r = r->next)
            text += fmt::format("  a task{} waits for {} of {} workers\n",
                                r->of->hint().name.empty() ? "" : fmt::format(" '{}'", r->of->hint().name),
                                r->size - static_cast<int>(r->joined.size()), r->size);
    };
    of(e.outermost);
    for (const auto& [key, a] : e.team_arenas) of(*a);
    return text;
}

} // namespace weft::engine
