#include "gate/claim.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace weft {

namespace {

std::string names_of(const claim& c) {
    std::string names;
    for (const claim::part& p : c.parts)
        names += fmt::format("{}'{}'", names.empty() ? "" : ", ", p.of->label());
    return names;
}

/// What the claims around `c` hold of a resource until their tasks have ended.
std::int64_t held_above(const claim& c, const resource& r) noexcept {
    if (r.rests || r.at.size() != 1) return 0;
    std::int64_t held = 0;
    for (const claim* a = c.above; a; a = a->above)
        if (const claim::part* its = a->part_of(r)) held += its->amount;
    return held;
}

} // namespace

bool claim::part::is_at(int rank) const noexcept {
    return !of->has_places() || of->at[static_cast<std::size_t>(place)].ranks.contains(rank);
}

bool claim::is_possible_at(int rank) const noexcept {
    return std::ranges::all_of(parts, [&](const part& p) {
        return p.place < 0 ? p.of->per == scope::device || p.of->place_at(rank) >= 0 : p.is_at(rank);
    });
}

int claim::first_rank_in(rank_range ranks) const noexcept {
    for (int rank = ranks.first; rank < ranks.last; ++rank)
        if (may_be_at(rank)) return rank;
    return -1;
}

int claim::possible_rank(int preferred) const noexcept {
    if (is_settled()) return cores.rank;
    if (preferred >= 0 && is_possible_at(own(preferred))) return own(preferred);
    if (const resource* r = binding())
        for (const resource::quantity& q : r->at)
            if (const int rank = first_rank_in(q.ranks); rank >= 0 && is_possible_at(rank)) return rank;
    return -1;
}

std::int64_t claim::most(const resource& r) const noexcept {
    if (!r.has_places()) return r.most();
    std::int64_t most = 0;
    for (const resource::quantity& q : r.at)
        if (first_rank_in(q.ranks) >= 0) most = std::max(most, q.total);
    return most;
}

rank_range claim::ranks_at(int rank) const noexcept {
    const resource* const r = binding();
    return r && !is_settled() ? r->at[static_cast<std::size_t>(r->place_at(rank))].ranks : rank_range{};
}

bool claim::has_worker_at(int rank) const noexcept {
    return !among || cores.count > 0 || among->free_cell(ranks_at(rank)) >= 0;
}

void claim::check(std::string_view of_task) const {
    if (binding() && possible_rank(-1) < 0) check_failed_places(of_task);
    for (const part& p : parts) {
        if (p.of->exceeds) continue;
        const std::int64_t held = held_above(*this, *p.of);
        const std::int64_t there_is = most(*p.of);
        if (p.amount + held <= there_is) continue;
        const std::string given = fmt::format("{} needs {} of '{}'", of_task, p.amount, p.of->label());
        if (p.amount > there_is)
            throw error("a task needs more of a resource than there is", given,
                        fmt::format("at most {}", there_is));
        throw error("a task needs more of a resource than the tasks around it leave", given,
                    fmt::format("at most {}: they hold {} of {} until it has ended", there_is - held, held,
                                there_is));
    }
}

void claim::check_failed_places(std::string_view of_task) const {
    const std::string given = fmt::format("{}: {}", of_task, names_of(*this));
    const bool is_elsewhere = std::ranges::any_of(
        binding()->at, [&](const resource::quantity& q) { return is_possible_at(q.ranks.first); });
    if (is_elsewhere)
        throw error("a task needs resources of a place where none of its workers is", given,
                    "resources of places where members of the team are that its graph runs in");
    throw error("a task needs resources that are in different places", given,
                "resources that one core can use");
}

} // namespace weft
