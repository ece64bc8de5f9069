#include "gate/bound_tasks.hpp"

#include <algorithm>
#include <utility>

namespace weft {

bound_tasks::bound_tasks(const resource_table& table) {
    for (const auto& r : table.all) {
        if (!r->has_places()) continue;
        for (const auto& q : r->at)
            if (std::ranges::find(places_, q.ranks, &place::ranks) == places_.end())
                places_.push_back({q.ranks});
    }
}

void bound_tasks::put(task& t, rank_range ranks) {
    std::ranges::find(places_, ranks, &place::ranks)->tasks.push_back(&t);
    count(1);
}

task* bound_tasks::take(int rank, const engine::arena* in) noexcept {
    for (place& p : places_) {
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
        count(-1);
        return found;
    }
    return nullptr;
}

bool bound_tasks::has_for(int rank, const engine::arena* in) const noexcept {
    bool any = false;
    for (const place& p : places_)
        if (p.ranks.contains(rank)) p.tasks.for_each([&](const task& t) { any = any || t.arena_ == in; });
    return any;
}

std::size_t bound_tasks::count_at(rank_range ranks) const noexcept {
    return std::ranges::find(places_, ranks, &place::ranks)->tasks.size();
}

} // namespace weft
