#include "gate/reservations.hpp"

#include "gate/core_pool.hpp"

namespace weft {

namespace {

/// A claim that holds something passes those that reserve, or each would wait for the other. So does a claim
/// whose task descends from a holder, since the holder may be waiting for that task (R5).
bool passes(const claim& c) noexcept {
    for (const claim* a = &c; a; a = a->above)
        if (a->holds_some()) return true;
    return false;
}

} // namespace

/// What older reservations keep from `c` of a resource at a place.
std::int64_t reservations::kept_from(const claim& c, const resource& r, int place) const noexcept {
    if (passes(c)) return 0;
    for (const claim* older : reserving_) {
        if (older == &c) break;
        for (const claim::part& its : older->parts) {
            if (its.place >= 0) continue;
            const bool is_excluded = r.set && its.of->set == r.set && its.of != &r;
            if (is_excluded) return r.at[static_cast<std::size_t>(place)].total;
            if (its.of == &r && (!r.has_places() || r.place_at(older->reserved_by) == place))
                return its.amount;
        }
    }
    return 0;
}

bool reservations::fits(const claim& c, const claim::part& p, int place) const noexcept {
    const resource::quantity& q = p.of->at[static_cast<std::size_t>(place)];
    const std::int64_t used = q.used + kept_from(c, *p.of, place);
    return p.of->exceeds ? used == 0 || used < q.total : used + p.amount <= q.total;
}

std::optional<int> reservations::room(const claim& c, const claim::part& p, int rank) const noexcept {
    const resource& r = *p.of;
    if (r.set && r.set->active && r.set->active != &r) return std::nullopt;
    if (c.is_settled()) rank = c.cores.rank; // R9
    if (r.pool) {
        if (has_older_of_workers(c, r)) return std::nullopt;
        return r.pool->has_room(c.cores, rank) ? std::optional(0) : std::nullopt;
    }
    if (r.per == scope::device) {
        for (int place = 0; place < static_cast<int>(r.at.size()); ++place)
            if (fits(c, p, place)) return place;
        return std::nullopt;
    }
    const int place = r.place_at(rank);
    if (place < 0 || !fits(c, p, place)) return std::nullopt;
    return place;
}

const claim::part* reservations::obstacle(const claim& c, int rank) const noexcept {
    rank = c.is_settled() ? c.cores.rank : c.own(rank);
    for (const claim::part& p : c.parts)
        if (p.place < 0 ? !room(c, p, rank) : !p.is_at(rank)) return &p;
    return nullptr;
}

bool reservations::has_older_of_workers(const claim& c, const resource& tokens) const noexcept {
    // The claim of a team's task is above the claims of all tasks that could ask for its members, so what it
    // holds does not tell these apart.
    for (const claim* a = &c; a && !a->is_settled(); a = a->above)
        if (a->holds_some()) return false; // it passes (R5)
    for (const claim* older : reserving_) {
        if (older == &c) break;
        if (older->cores.count > 0 && older->part_of(tokens)) return true;
    }
    return false;
}

} // namespace weft
