#include "gate/gate.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weft {

gate::gate(resource_table&& t, const machine& m) : table_(std::move(t)) {
    reserving_.reserve(static_cast<std::size_t>(m.size()));
    for (const auto& r : table_.all) {
        if (!r->has_places()) continue;
        for (const auto& q : r->at)
            if (std::ranges::find(places_, q.ranks, &bound_tasks::ranks) == places_.end())
                places_.push_back({q.ranks});
    }
}

std::span<const class_need> gate::needs_of(std::string_view tasks) const noexcept {
    const auto found = table_.needs.find(tasks);
    return found == table_.needs.end() ? std::span<const class_need>{} : found->second;
}

void gate::check(const claim& c, std::string_view of_task) const {
    if (c.binding() && possible_rank(c, -1) < 0) {
        std::string names;
        for (const claim::part& p : c.parts)
            names += fmt::format("{}'{}'", names.empty() ? "" : ", ", p.of->label());
        const bool is_elsewhere = std::ranges::any_of(
            c.binding()->at, [&](const resource::quantity& q) { return is_possible(c, q.ranks.first); });
        if (is_elsewhere)
            throw error("a task needs resources of a place where none of its workers is",
                        fmt::format("{}: {}", of_task, names),
                        "resources of places where members of the team are that its graph runs in");
        throw error("a task needs resources that are in different places",
                    fmt::format("{}: {}", of_task, names), "resources that one core can use");
    }
    for (const claim::part& p : c.parts) {
        if (p.of->exceeds) continue;
        std::int64_t held = 0;
        for (const claim* a = c.above; a && !p.of->rests && p.of->at.size() == 1; a = a->above)
            if (const claim::part* its = a->part_of(*p.of)) held += its->amount;
        const std::int64_t most = gate::most(c, *p.of);
        if (p.amount + held <= most) continue;
        const std::string given = fmt::format("{} needs {} of '{}'", of_task, p.amount, p.of->label());
        if (p.amount > most)
            throw error("a task needs more of a resource than there is", given,
                        fmt::format("at most {}", most));
        throw error(
            "a task needs more of a resource than the tasks around it leave", given,
            fmt::format("at most {}: they hold {} of {} until it has ended", most - held, held, most));
    }
}

// ---- what there is room for; all of this under the lock

int gate::place_at(const resource& r, int rank) noexcept {
    if (!r.has_places()) return 0;
    for (std::size_t i = 0; i < r.at.size(); ++i)
        if (r.at[i].ranks.contains(rank)) return static_cast<int>(i);
    return -1;
}

/// The place where a worker of this rank could take the part now.
std::optional<int> gate::room(const claim& c, const claim::part& p, int rank) const noexcept {
    const resource& r = *p.of;
    if (r.set && r.set->active && r.set->active != &r) return std::nullopt;
    // Who was called to a team keeps what it was given, wherever its members are.
    if (c.is_settled()) rank = c.cores.rank;
    // Who holds something passes those who reserve, or both would wait for each other; and so does who
    // descends from a holder, which may be waiting for it.
    bool passes = c.holds_some();
    for (const claim* a = c.above; a && !passes; a = a->above) passes = a->holds_some();
    if (r.pool) {
        if (has_older_reservation_of_workers(c, r)) return std::nullopt;
        return r.pool->has_room(c.cores, rank) ? std::optional(0) : std::nullopt;
    }
    const auto reserved = [&](int place) -> std::int64_t {
        if (passes) return 0;
        for (const claim* older : reserving_) {
            if (older == &c) break;
            for (const claim::part& its : older->parts) {
                if (its.place >= 0) continue;
                const bool same =
                    its.of == &r && (!r.has_places() || place_at(r, older->reserved_by) == place);
                const bool excluded = r.set && its.of->set == r.set && its.of != &r;
                if (excluded) return r.at[static_cast<std::size_t>(place)].total;
                if (same) return its.amount;
            }
        }
        return 0;
    };
    const auto fits = [&](int place) {
        const resource::quantity& q = r.at[static_cast<std::size_t>(place)];
        const std::int64_t used = q.used + reserved(place);
        return r.exceeds ? used == 0 || used < q.total : used + p.amount <= q.total;
    };
    if (r.per == scope::device) {
        for (int place = 0; place < static_cast<int>(r.at.size()); ++place)
            if (fits(place)) return place;
        return std::nullopt;
    }
    const int place = place_at(r, rank);
    if (place < 0 || !fits(place)) return std::nullopt;
    return place;
}

/// Who comes after a reservation of workers takes none at all: places of all scopes overlap.
bool gate::has_older_reservation_of_workers(const claim& c, const resource& tokens) const noexcept {
    // What a team's task holds, all who could ask for its members have above them alike.
    for (const claim* a = &c; a && !a->is_settled(); a = a->above)
        if (a->holds_some()) return false; // it passes
    for (const claim* older : reserving_) {
        if (older == &c) break;
        if (older->cores.count > 0 && older->part_of(tokens)) return true;
    }
    return false;
}

/// The first part that cannot be had there, or is held elsewhere; null if all of it can be had.
const claim::part* gate::obstacle(const claim& c, int rank) const noexcept {
    rank = c.is_settled() ? c.cores.rank : c.own(rank);
    for (const claim::part& p : c.parts)
        if (p.place < 0 ? !room(c, p, rank) : !is_at(p, rank)) return &p;
    return nullptr;
}

/// A worker of this rank could run it, as far as places go: it may have to wait.
bool gate::is_possible(const claim& c, int rank) noexcept {
    return std::ranges::all_of(c.parts, [&](const claim::part& p) {
        return p.place < 0 ? p.of->per == scope::device || place_at(*p.of, rank) >= 0 : is_at(p, rank);
    });
}

/// The first of them where a worker is that may run it; -1: there is none.
int gate::own_rank_in(const claim& c, rank_range ranks) noexcept {
    for (int rank = ranks.first; rank < ranks.last; ++rank)
        if (c.may_be_at(rank)) return rank;
    return -1;
}

/// `preferred`, or another one that is possible; -1: none is.
int gate::possible_rank(const claim& c, int preferred) noexcept {
    if (c.is_settled()) return c.cores.rank;
    if (preferred >= 0 && is_possible(c, c.own(preferred))) return c.own(preferred);
    if (const resource* r = c.binding())
        for (const resource::quantity& q : r->at)
            if (const int rank = own_rank_in(c, q.ranks); rank >= 0 && is_possible(c, rank)) return rank;
    return -1;
}

/// The largest total of a place where a worker is that may run it.
std::int64_t gate::most(const claim& c, const resource& r) noexcept {
    if (!r.has_places()) return r.most();
    std::int64_t most = 0;
    for (const resource::quantity& q : r.at)
        if (own_rank_in(c, q.ranks) >= 0) most = std::max(most, q.total);
    return most;
}

bool gate::is_at(const claim::part& held, int rank) noexcept {
    return !held.of->has_places() || held.of->at[static_cast<std::size_t>(held.place)].ranks.contains(rank);
}

/// Who can run it when it takes what it needs at that rank; empty: all who may run it at all.
rank_range gate::place_of(const claim& c, int rank) noexcept {
    const resource* const r = c.binding();
    return r && !c.is_settled() ? r->at[static_cast<std::size_t>(place_at(*r, rank))].ranks : rank_range{};
}

/// Not all of these are in teams, or on their way to one.
bool gate::has_worker(const claim& c, int rank) noexcept {
    return !c.among || c.cores.count > 0 || c.among->free_cell(place_of(c, rank)) >= 0;
}

/// A rank at which all of it can be had now, by a worker that may run it: `first`, or one of the place where
/// the fewest are on their way to. If it can be, one where not all workers are in teams.
std::optional<int> gate::rank_with_room(const claim& c, int first) noexcept {
    if (c.is_settled()) return obstacle(c, first) ? std::nullopt : std::optional(c.cores.rank);
    std::optional<int> best;
    if (!obstacle(c, first)) best = c.own(first);
    const resource* const r = c.binding();
    if (!r || (best && has_worker(c, *best))) return best;
    best.reset();
    std::size_t fewest = 0;
    for (const resource::quantity& q : r->at) {
        const int rank = own_rank_in(c, q.ranks);
        if (rank < 0 || obstacle(c, rank)) continue;
        const std::size_t ahead = has_worker(c, rank) ? bound_to(q.ranks).tasks.size() : SIZE_MAX;
        if (best && ahead >= fewest) continue;
        best = rank;
        fewest = ahead;
    }
    return best;
}

gate::bound_tasks& gate::bound_to(rank_range ranks) noexcept {
    return *std::ranges::find(places_, ranks, &bound_tasks::ranks);
}

void gate::take(claim& c, int rank) noexcept {
    for (claim::part& p : c.parts) {
        if (p.place >= 0) continue;
        p.place = *room(c, p, rank);
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
    if (std::exchange(c.reserved_by, -1) >= 0) std::erase(reserving_, &c);
}

/// As take(), before the task starts. Until then a worker is kept from teams: if all were in teams whose
/// tasks wait for what this one has, it would never start. False if there is none to be had.
bool gate::take_early(claim& c, int rank) noexcept {
    if (c.among && c.cores.count == 0) {
        if (has_older_reservation_of_workers(c, c.among->tokens)) return false;
        c.awaits_cell = c.among->free_cell(place_of(c, rank));
        if (c.awaits_cell < 0) return false;
        c.among->take_one(c.awaits_cell);
    }
    take(c, rank);
    return true;
}

void gate::give_back(claim::part& p) noexcept {
    if (p.of->pool) { // the team gives them back, when it has ended
        p.place = -1;
        return;
    }
    p.of->at[static_cast<std::size_t>(p.place)].used -= p.amount;
    p.place = -1;
    if (exclusive_set* s = p.of->set; s && --s->users == 0) s->active = nullptr;
}

// ---- the doors

bool gate::admit(int rank, task& t, claim& c, released& out) {
    const std::lock_guard guard(lock_);
    for (const claim::part& p : c.parts) {
        if (p.place < 0 || is_at(p, rank) || c.is_settled()) continue;
        // It has that already: given in advance, or kept while it was suspended.
        bind(t, p.of->at[static_cast<std::size_t>(p.place)].ranks, out);
        return false;
    }
    const claim::part* const in_the_way = obstacle(c, rank);
    if (!in_the_way) {
        const bool reserved = c.reserved_by >= 0;
        take(c, rank);
        if (const int cell = std::exchange(c.awaits_cell, -1); cell >= 0) {
            c.among->give_back_one(cell);
            look_for_workers(*c.among, rank, out);
        }
        if (reserved) look_again(c, rank, out); // at what was kept for it and is left over
        return true;
    }
    // It may have been on its way to something that others wait for too.
    look_again(c, rank, out);
    if (const auto elsewhere = rank_with_room(c, rank); elsewhere && has_worker(c, *elsewhere)) {
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

/// Where it waits. Usually at what is in its way: nothing else can help it. But with several needs of which
/// one has places, another thing may be in its way elsewhere; and if nothing but workers is in its way
/// somewhere, so may be something else.
queue::chain<task>& gate::list_for(const claim& c, int rank, resource& otherwise) noexcept {
    if (c.parts.size() > 1 && c.binding()) return mixed_;
    if (const auto to = rank_with_room(c, rank); to && !has_worker(c, *to))
        return c.binding() ? mixed_ : c.among->tokens.refused;
    const claim::part* const in_the_way = obstacle(c, rank);
    return in_the_way ? in_the_way->of->refused : otherwise.refused;
}

void gate::refuse(claim& c, int rank) {
    if (c.reserved_by >= 0 || ++c.refusals < table_.reserve_after) return;
    c.reserved_by = possible_rank(c, rank);
    reserving_.push_back(&c);
}

void gate::release(int rank, claim& c, released& out) { give_back(rank, c, true, out); }
void gate::rest(int rank, claim& c, released& out) { give_back(rank, c, false, out); }

void gate::give_back(int rank, claim& c, bool all, released& out) {
    const std::lock_guard guard(lock_);
    bool any = false;
    for (claim::part& p : c.parts) {
        if (p.place < 0 || !(all || p.of->rests)) continue;
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

// ---- who is next

/// Workers are free again.
void gate::look_for_workers(core_pool& pool, int rank, released& out) {
    reconsider(pool.tokens, rank, out);
    reconsider_mixed(rank, out);
    look_at_freed(rank, out);
}

/// Something has become free that `c` had, or had in view: others may go now.
void gate::look_again(const claim& c, int rank, released& out) {
    reconsider(c, rank, out);
    look_at_freed(rank, out);
}

void gate::look_at_freed(int rank, released& out) {
    while (!freed_.empty()) { // who had reserved does so no longer
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

/// Lets go those whom there is room for: each of them alone, and all of them together as far as `r` goes.
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

/// Being passed over counts as a refusal for the one that waits longest: with exclusive data it is what
/// happens to most, and many reservations would leave nothing for anybody. Who has reserved is given what it
/// needs at once if a worker is sure to come; the others take it when they start. What is left of `r` is
/// promised to them meanwhile.
bool gate::let_go(task& t, resource* r, bool is_oldest, int rank, released& out) {
    claim& c = *t.claim_;
    const auto to = rank_with_room(c, rank);
    if (!to) {
        if (is_oldest) refuse(c, rank);
        return false;
    }
    // What was promised to it would be nobody's.
    if (!has_worker(c, *to)) return false;
    if (c.reserved_by >= 0 && take_early(c, *to)) {
        hand_on(t, c, rank, *to, out);
        freed_.push_back(&c); // what was kept for it and is left over
        return true;
    }
    // Who has waited for any worker at all has no part in `r`.
    if (const claim::part* const mine = r ? c.part_of(*r) : nullptr) {
        resource::quantity& q = r->at[static_cast<std::size_t>(*room(c, *mine, *to))];
        if (!r->exceeds && q.used + q.promised + mine->amount > q.total) return false;
        q.promised += mine->amount;
    }
    hand_on(t, c, rank, *to, out);
    return true;
}

/// To the caller at rank `from` if it may run there, else to those who may.
void gate::hand_on(task& t, const claim& c, int from, int to, released& out) {
    const resource* r = c.binding();
    if (!r || c.is_settled()) return out.tasks.push_back(&t);
    const bool is_fixed =
        std::ranges::any_of(c.parts, [](const claim::part& p) { return p.of->has_places() && p.place >= 0; });
    const rank_range there = r->at[static_cast<std::size_t>(place_at(*r, to))].ranks;
    // What can be had in several places may be stolen; else a thief would only bring it back.
    if (there.contains(from) && !is_fixed && r->at.size() > 1) return out.tasks.push_back(&t);
    bind(t, there, out);
}

void gate::bind(task& t, rank_range ranks, released& out) {
    bound_to(ranks).tasks.push_back(&t);
    bound_.store(bound_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    out.at.push_back({ranks, t.arena_});
}

task* gate::take_bound(int rank, const engine::arena* in) {
    const std::lock_guard guard(lock_);
    for (bound_tasks& p : places_) {
        if (!p.ranks.contains(rank)) continue;
        task* found = nullptr;
        queue::chain<task> others;
        while (task* const t = p.tasks.pop_front()) {
            if (!found && t->arena_ == in)
                found = t;
            else
                others.push_back(t);
        }
        p.tasks = std::move(others);
        if (!found) continue;
        bound_.store(bound_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        return found;
    }
    return nullptr;
}

bool gate::has_bound_for(int rank, const engine::arena* in) const {
    if (!has_bound()) return false;
    const std::lock_guard guard(lock_);
    bool any = false;
    for (const bound_tasks& p : places_)
        if (p.ranks.contains(rank)) p.tasks.for_each([&](const task& t) { any = any || t.arena_ == in; });
    return any;
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
    for (const bound_tasks& p : places_)
        p.tasks.for_each([&](const task& t) {
            text += line(t, fmt::format("a worker of cores {} to {}", p.ranks.first, p.ranks.last - 1));
        });
    return text;
}

} // namespace weft
