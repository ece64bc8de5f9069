#include "gate/gate.hpp"

#include "task/sanitizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weft {

gate::gate(resource_table&& t, const machine& m)
    : table_(std::move(t))
    , reservations_(m.size())
    , bound_(table_) {}

std::span<const class_need> gate::needs_of(std::string_view tasks) const noexcept {
    const auto found = table_.needs.find(tasks);
    return found == table_.needs.end() ? std::span<const class_need>{} : found->second;
}

// ---- taking and giving back, under the lock

/// A rank at which all of the claim can be had now, by a worker that may run its task: `first`, or a rank of
/// the place to which the fewest tasks are bound. A place whose workers are all in teams comes last (R11).
std::optional<int> gate::rank_with_room(const claim& c, int first) const noexcept {
    if (c.is_settled()) return reservations_.obstacle(c, first) ? std::nullopt : std::optional(c.cores.rank);
    std::optional<int> best;
    if (!reservations_.obstacle(c, first)) best = c.own(first);
    const resource* const r = c.binding();
    if (!r || (best && c.has_worker_at(*best))) return best;
    best.reset();
    std::size_t fewest = 0;
    for (const resource::quantity& q : r->at) {
        const int rank = c.first_rank_in(q.ranks);
        if (rank < 0 || reservations_.obstacle(c, rank)) continue;
        const std::size_t ahead = c.has_worker_at(rank) ? bound_.count_at(q.ranks) : SIZE_MAX;
        if (best && ahead >= fewest) continue;
        best = rank;
        fewest = ahead;
    }
    return best;
}

void gate::take(claim& c, int rank) noexcept {
    for (claim::part& p : c.parts) {
        if (p.place >= 0) continue;
        p.place = *reservations_.room(c, p, rank);
        if (p.of->pool) {
            p.of->pool->take(c.cores, rank);
            continue;
        }
        p.of->at[static_cast<std::size_t>(p.place)].used += p.amount;
        if (exclusive_set* s = p.of->set) {
            s->active = p.of;
            ++s->users;
        }
    }
    c.refusals = 0;
    if (std::exchange(c.reserved_by, -1) >= 0) reservations_.remove(c);
}

/// Like take(), before the task starts. Until it starts, a worker is kept from teams: if all workers were in
/// teams whose tasks wait for what this one has, it would never start (R11). False if no worker can be kept.
bool gate::take_early(claim& c, int rank) noexcept {
    if (c.among && c.cores.count == 0) {
        if (reservations_.has_older_of_workers(c, c.among->tokens)) return false;
        c.awaits_cell = c.among->free_cell(c.ranks_at(rank));
        if (c.awaits_cell < 0) return false;
        c.among->take_one(c.awaits_cell);
    }
    take(c, rank);
    return true;
}

void gate::give_back(claim::part& p) noexcept {
    if (p.of->pool) { // the team gives its workers back when it has ended (R8)
        p.place = -1;
        return;
    }
    p.of->at[static_cast<std::size_t>(p.place)].used -= p.amount;
    p.place = -1;
    if (exclusive_set* s = p.of->set; s && --s->users == 0) s->active = nullptr;
}

// ---- what workers call

bool gate::admit(int rank, task& t, claim& c, released& out) {
    const std::lock_guard guard(lock_);
    for (const claim::part& p : c.parts) {
        if (p.place < 0 || p.is_at(rank) || c.is_settled()) continue;
        // The claim holds this part elsewhere: it was given in advance, or kept while the task was suspended.
        bind(t, p.of->at[static_cast<std::size_t>(p.place)].ranks, out);
        return false;
    }
    const claim::part* const in_the_way = reservations_.obstacle(c, rank);
    if (!in_the_way) {
        const bool reserved = c.reserved_by >= 0;
        take(c, rank);
        if (const int cell = std::exchange(c.awaits_cell, -1); cell >= 0) {
            c.among->give_back_one(cell);
            look_for_workers(*c.among, rank, out);
        }
        if (reserved) look_again(c, rank, out); // what was kept for it and is left over
        for (const claim::part& p : c.parts) sanitizer::happens_after(p.of);
        return true;
    }
    // What was promised to this task while it was on its way may be what others wait for (R3).
    look_again(c, rank, out);
    if (const auto elsewhere = rank_with_room(c, rank); elsewhere && c.has_worker_at(*elsewhere)) {
        hand_on(t, c, rank, *elsewhere, out);
        return false;
    }
    auto& list = list_for(c, rank, *in_the_way->of);
    if (c.refusals > 0)
        list.push_front(&t);
    else
        list.push_back(&t);
    refuse(c, rank);
    return false;
}

/// Where a refused task waits. Usually at what is in its way: nothing else can help it (R1). But with several
/// needs of which one has places, another resource may be in its way elsewhere; and the same holds if at some
/// place only workers are in its way.
queue::chain<task>& gate::list_for(const claim& c, int rank, resource& otherwise) noexcept {
    if (c.parts.size() > 1 && c.binding()) return mixed_;
    if (const auto to = rank_with_room(c, rank); to && !c.has_worker_at(*to))
        return c.binding() ? mixed_ : c.among->tokens.refused;
    const claim::part* const in_the_way = reservations_.obstacle(c, rank);
    return in_the_way ? in_the_way->of->refused : otherwise.refused;
}

void gate::refuse(claim& c, int rank) {
    if (c.reserved_by >= 0 || ++c.refusals < table_.reserve_after) return;
    c.reserved_by = c.possible_rank(rank);
    reservations_.add(c);
}

void gate::release(int rank, claim& c, released& out) { give_back(rank, c, true, out); }
// What rests goes back, all other parts stay (R7).
void gate::rest(int rank, claim& c, released& out) { give_back(rank, c, false, out); }

void gate::give_back(int rank, claim& c, bool all, released& out) {
    const std::lock_guard guard(lock_);
    bool any = false;
    for (claim::part& p : c.parts) {
        if (p.place < 0 || !(all || p.of->rests)) continue;
        sanitizer::happens_before(p.of);
        give_back(p);
        any = true;
    }
    if (all) c.cores.rank = -1;
    if (any) look_again(c, rank, out);
}

void gate::give_back_cores(int rank, core_pool& pool, const std::vector<int>& by_cell, released& out) {
    const std::lock_guard guard(lock_);
    pool.give_back(by_cell);
    look_for_workers(pool, rank, out);
}

// ---- which task is next

/// Some workers are free again.
void gate::look_for_workers(core_pool& pool, int rank, released& out) {
    reconsider(pool.tokens, rank, out);
    reconsider_mixed(rank, out);
    look_at_freed(rank, out);
}

/// Something has become free that `c` had, or was promised: other tasks may go now.
void gate::look_again(const claim& c, int rank, released& out) {
    reconsider(c, rank, out);
    look_at_freed(rank, out);
}

void gate::look_at_freed(int rank, released& out) {
    while (!freed_.empty()) { // these claims had reserved and do so no longer
        const claim* const next = freed_.back();
        freed_.pop_back();
        reconsider(*next, rank, out);
    }
}

void gate::reconsider(const claim& c, int rank, released& out) {
    for (const claim::part& p : c.parts) {
        if (p.of->set && !p.of->set->active)
            for (resource* r : p.of->set->members) reconsider(*r, rank, out);
        else
            reconsider(*p.of, rank, out);
    }
    reconsider_mixed(rank, out);
}

void gate::reconsider_mixed(int rank, released& out) {
    queue::chain<task> all = std::move(mixed_);
    while (task* const t = all.pop_front())
        if (!let_go(*t, nullptr, mixed_.empty(), rank, out)) mixed_.push_back(t);
}

/// Lets go the tasks for which there is room: for each alone, and as far as `r` goes for all together.
void gate::reconsider(resource& r, int rank, released& out) {
    if (r.refused.empty()) return;
    for (auto& q : r.at) q.promised = 0;
    queue::chain<task> still;
    const resource::quantity& first = r.at.front();
    while (r.at.size() > 1 || r.exceeds || first.used + first.promised < first.total) {
        task* const t = r.refused.pop_front();
        if (!t) break;
        if (let_go(*t, &r, still.empty(), rank, out)) continue;
        auto& list = list_for(*t->claim_, rank, r);
        (&list == &r.refused ? still : list).push_back(t);
    }
    still.push_back(std::move(r.refused));
    r.refused = std::move(still);
}

/// Being passed over counts as a refusal only for the task that waits longest: with exclusive data most tasks
/// are passed over, and many reservations would leave nothing for any task. A claim that has reserved is
/// given what it needs at once if a worker is sure to come (R4); the others take it when they start (R2).
/// What is left of `r` is promised to them meanwhile.
bool gate::let_go(task& t, resource* r, bool is_oldest, int rank, released& out) {
    claim& c = *t.claim_;
    const auto to = rank_with_room(c, rank);
    if (!to) {
        if (is_oldest) refuse(c, rank);
        return false;
    }
    // No worker may come for what would be promised to it (R11).
    if (!c.has_worker_at(*to)) return false;
    if (c.reserved_by >= 0 && take_early(c, *to)) {
        hand_on(t, c, rank, *to, out);
        freed_.push_back(&c); // what was kept for it and is left over
        return true;
    }
    // A task that waited for any worker at all needs nothing of `r`.
    if (const claim::part* const mine = r ? c.part_of(*r) : nullptr) {
        resource::quantity& q = r->at[static_cast<std::size_t>(*reservations_.room(c, *mine, *to))];
        if (!r->exceeds && q.used + q.promised + mine->amount > q.total) return false;
        q.promised += mine->amount;
    }
    hand_on(t, c, rank, *to, out);
    return true;
}

/// To the caller at rank `from` if the task may run there, else to the workers that may run it (R6).
void gate::hand_on(task& t, const claim& c, int from, int to, released& out) {
    const resource* r = c.binding();
    if (!r || c.is_settled()) return out.tasks.push_back(&t);
    const bool is_fixed =
        std::ranges::any_of(c.parts, [](const claim::part& p) { return p.of->has_places() && p.place >= 0; });
    const rank_range there = r->at[static_cast<std::size_t>(r->place_at(to))].ranks;
    // What can be had in several places may be stolen; else a thief would only bring it back.
    if (there.contains(from) && !is_fixed && r->at.size() > 1) return out.tasks.push_back(&t);
    bind(t, there, out);
}

void gate::bind(task& t, rank_range ranks, released& out) {
    bound_.put(t, ranks);
    out.at.push_back({ranks, t.arena_});
}

task* gate::take_bound(int rank, const engine::arena* in) {
    const std::lock_guard guard(lock_);
    return bound_.take(rank, in);
}

bool gate::has_bound_for(int rank, const engine::arena* in) const {
    if (!has_bound()) return false;
    const std::lock_guard guard(lock_);
    return bound_.has_for(rank, in);
}

std::string gate::line(const task& t, std::string_view what) {
    return fmt::format("  a task{} waits at the gate for {}\n",
                       t.hint().name.empty() ? "" : fmt::format(" '{}'", t.hint().name), what);
}

std::string gate::to_string(const core_pool& pool) const {
    const std::lock_guard guard(lock_);
    std::string text;
    pool.tokens.refused.for_each([&](const task& t) {
        const int count = t.claim_->cores.count;
        text += line(t, fmt::format("{}: {} of {} are in teams",
                                    count > 0 ? fmt::format("{} workers", count) : "a worker",
                                    pool.tokens.at.front().used, pool.tokens.at.front().total));
    });
    return text;
}

std::string gate::to_string() const {
    const std::lock_guard guard(lock_);
    std::string text;
    for (const auto& r : table_.all)
        r->refused.for_each([&](const task& t) {
            const claim::part& p = *t.claim_->part_of(*r);
            text += line(t, fmt::format("{} of '{}'", p.amount, r->name));
        });
    mixed_.for_each([&](const task& t) {
        const claim::part& p = t.claim_->parts.front();
        text += line(t, t.claim_->parts.size() > 1
                            ? "several resources in one place"
                            : fmt::format("{} of '{}' and a worker there", p.amount, p.of->name));
    });
    for (const bound_tasks::place& p : bound_.places())
        p.tasks.for_each([&](const task& t) {
            text += line(t, fmt::format("a worker of cores {} to {}", p.ranks.first, p.ranks.last - 1));
        });
    return text;
}

} // namespace weft
