#include "gate/core_pool.hpp"
#include "machine/index.hpp"

#include <algorithm>

namespace weft {

namespace {} // namespace

core_pool::core_pool() {
    tokens.name = "cores";
    tokens.pool = this;
    tokens.at.front().total = 0;
}

void core_pool::add(const machine& m, int rank) {
    cell_of_rank_.resize(index(m.size()), -1);
    const int domain = m.domain_of(rank), package = m.package_of(rank), node = m.memory_node_of(rank);
    auto c = std::ranges::find_if(cells, [&](const cell& other) {
        return other.domain == domain && other.package == package && other.memory_node == node;
    });
    if (c == cells.end()) c = cells.insert(c, {domain, package, node});
    ++c->workers;
    ++c->free;
    cell_of_rank_[index(rank)] = static_cast<int>(c - cells.begin());
    if (first_rank_ < 0) first_rank_ = rank;
    ++tokens.at.front().total;
}

int core_pool::place_of(const cell& c, scope s) noexcept {
    switch (s) {
    case scope::cache: return c.domain;
    case scope::memory_node: return c.memory_node;
    case scope::package: return c.package;
    default: return 0;
    }
}

int core_pool::most(scope s) const noexcept {
    int most = 0;
    for (const cell& of : cells) {
        int sum = 0;
        for (const cell& c : cells)
            if (place_of(c, s) == place_of(of, s)) sum += c.workers;
        most = std::max(most, sum);
    }
    return most;
}

int core_pool::free_in(int place, scope s) const noexcept {
    int sum = 0;
    for (const cell& c : cells)
        if (place_of(c, s) == place) sum += c.free;
    return sum;
}

bool core_pool::has_room(const core_request& r, int) const noexcept {
    const int least = r.relaxed ? 1 : r.width(most(r.within));
    return std::ranges::any_of(
        cells, [&](const cell& c) { return free_in(place_of(c, r.within), r.within) >= least; });
}

void core_pool::take(core_request& r, int rank) noexcept {
    const int width = r.width(most(r.within));
    const int own = cell_of(rank);
    // Its own place if there is room, else the place with the most free tokens.
    int place = place_of(cells[index(own)], r.within);
    if (const int least = r.relaxed ? 1 : width; free_in(place, r.within) < least)
        for (const cell& c : cells)
            if (free_in(place_of(c, r.within), r.within) > free_in(place, r.within))
                place = place_of(c, r.within);
    std::ranges::fill(r.got, 0);
    r.size = 0;
    const auto take_of = [&](int n, int most_of_it) {
        const int some = std::min({most_of_it, width - r.size, cells[index(n)].free});
        if (some <= 0) return;
        cells[index(n)].free -= some;
        r.got[index(n)] += some;
        r.size += some;
    };
    /// For a relaxed request, the task's own worker counts as one that has nothing to do.
    const auto ready_in = [&](int n) { return r.relaxed ? idle_in(n) + (n == own ? 1 : 0) : width; };
    if (place_of(cells[index(own)], r.within) == place) take_of(own, ready_in(own));
    for (const bool same_package : {true, false})
        for (int tried = 0; tried < static_cast<int>(cells.size()) && r.size < width; ++tried) {
            int best = -1; // the cell with the most free tokens, so that few cells are used
            for (int n = 0; n < static_cast<int>(cells.size()); ++n) {
                const cell& c = cells[index(n)];
                const bool untouched = n != own && r.got[index(n)] == 0;
                if (!untouched || place_of(c, r.within) != place || ready_in(n) == 0) continue;
                if (same_package != (c.package == cells[index(own)].package) || c.free == 0) continue;
                if (best < 0 || c.free > cells[index(best)].free) best = n;
            }
            if (best < 0) break;
            take_of(best, ready_in(best));
        }
    // No free worker is idle: take the first that becomes idle.
    for (int n = 0; r.size == 0; ++n)
        if (place_of(cells[index(n)], r.within) == place) take_of(n, 1);
    tokens.at.front().used += r.size;
}

void core_pool::give_back(const std::vector<int>& by_cell) noexcept {
    for (std::size_t n = 0; n < cells.size(); ++n) {
        cells[n].free += by_cell[n];
        tokens.at.front().used -= by_cell[n];
    }
}

int core_pool::free_cell(rank_range ranks) const noexcept {
    if (ranks.size() == 0) ranks = {0, static_cast<int>(cell_of_rank_.size())};
    for (int rank = ranks.first; rank < ranks.last; ++rank)
        if (const int n = cell_of(rank); n >= 0 && cells[index(n)].free > 0) return n;
    return -1;
}

void core_pool::take_one(int of_cell) noexcept {
    --cells[index(of_cell)].free;
    ++tokens.at.front().used;
}

void core_pool::give_back_one(int of_cell) noexcept {
    ++cells[index(of_cell)].free;
    --tokens.at.front().used;
}

} // namespace weft
