#include "engine/model/core_speed.hpp"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <limits>
#include <set>

namespace weft::engine {

core_speed::core_speed(const machine& m, const scenario& events)
    : on_(m)
    , pieces_(static_cast<std::size_t>(m.size())) {
    const auto& classes = m.core_classes();
    const core_class& fastest = *std::max_element(
        classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.speed < b.speed; });
    assert(fastest.frequency_mhz > 0); // machine/figures.hpp sees to it
    const model_settings& per_cycle = m.model();
    const double whole = 1e3 / fastest.frequency_mhz * fastest.speed;
    cycle_work_ = whole / per_cycle.work_per_cycle;
    vector_cycle_work_ = whole / per_cycle.vector_work_per_cycle.value_or(per_cycle.work_per_cycle);

    for (int rank = 0; rank < m.size(); ++rank) {
        std::set<time_ns> times;
        for (const auto& c : events.cores) {
            if (c.rank != rank) continue;
            times.insert(c.from);
            if (c.until != scenario::for_ever) times.insert(c.until);
        }
        for (const time_ns at : times) {
            piece p{static_cast<double>(at), 1, 1};
            for (const auto& c : events.cores) {
                if (c.rank != rank || c.from > at || at >= c.until) continue;
                p.speed *= c.speed;
                p.share *= c.share;
            }
            pieces_[static_cast<std::size_t>(rank)].push_back(p);
        }
    }
}

double core_speed::share(int rank, double at) const {
    const auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    auto next = std::upper_bound(pieces.begin(), pieces.end(), at,
                                 [](double t, const piece& p) { return t < p.from; });
    if (next == pieces.begin()) return 1;
    for (--next; next != pieces.end(); ++next)
        if (next->share > 0) return next->share;
    return 1;
}

double core_speed::duration(int rank, double work, work_kind kind, double start) const {
    const double speed = on_.speed_of(rank, kind);
    const auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    if (pieces.empty()) return work / speed;
    auto next = std::upper_bound(pieces.begin(), pieces.end(), start,
                                 [](double t, const piece& p) { return t < p.from; });
    double at = start;
    for (;; ++next) {
        const double now =
            next == pieces.begin() ? speed : speed * std::prev(next)->speed * std::prev(next)->share;
        const double until = next == pieces.end() ? std::numeric_limits<double>::infinity() : next->from;
        if (now > 0 && work <= (until - at) * now) return at + work / now - start;
        work -= (until - at) * now;
        at = until;
    }
}

} // namespace weft::engine
