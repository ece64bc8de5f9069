#include "engine/model/core_speed.hpp"

#include "engine/model/virtual_clock.hpp"

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

    std::vector<std::vector<scenario::core_change>> changes(pieces_.size());
    for (const auto& c : events.cores) changes[static_cast<std::size_t>(c.rank)].push_back(c);
    for (int rank = 0; rank < m.size(); ++rank) {
        const auto& own = changes[static_cast<std::size_t>(rank)];
        std::set<time_ns> times;
        for (const auto& c : own) {
            times.insert(c.from);
            if (c.until != scenario::for_ever) times.insert(c.until);
        }
        for (const time_ns at : times) {
            piece p{at, 1, 1};
            for (const auto& c : own) {
                if (c.from > at || at >= c.until) continue;
                p.speed *= c.speed;
                p.share *= c.share;
            }
            pieces_[static_cast<std::size_t>(rank)].push_back(p);
        }
    }
}

double core_speed::share(int rank, time_ns at) const {
    const auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    auto next = std::upper_bound(pieces.begin(), pieces.end(), at,
                                 [](time_ns t, const piece& p) { return t < p.from; });
    if (next == pieces.begin()) return 1;
    for (--next; next != pieces.end(); ++next)
        if (next->share > 0) return next->share;
    return 1;
}

double core_speed::work_until(int rank, work_kind kind, time_ns start, double fraction, time_ns end) const {
    const double speed = on_.speed_of(rank, kind);
    const auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    double done = 0, at = fraction, factor = 1; // times relative to `start`
    for (const piece& p : pieces) {
        const auto begins = static_cast<double>(p.from - start);
        if (begins >= static_cast<double>(end - start)) break;
        if (begins > at) {
            done += (begins - at) * speed * factor;
            at = begins;
        }
        factor = p.speed * p.share;
    }
    return done + (static_cast<double>(end - start) - at) * speed * factor;
}

double core_speed::duration(int rank, double work, work_kind kind, time_ns start, double fraction) const {
    const double speed = on_.speed_of(rank, kind);
    const auto& pieces = pieces_[static_cast<std::size_t>(rank)];
    if (pieces.empty()) return work / speed;
    // Times relative to the epoch of `start`.
    const time_ns base = epoch_of(start);
    const auto begin_of = [base](const piece& p) { return static_cast<double>(p.from - base); };
    const double began = static_cast<double>(start - base) + fraction;
    auto next = std::upper_bound(pieces.begin(), pieces.end(), began,
                                 [&](double t, const piece& p) { return t < begin_of(p); });
    double at = began;
    for (;; ++next) {
        const double now =
            next == pieces.begin() ? speed : speed * std::prev(next)->speed * std::prev(next)->share;
        const double until = next == pieces.end() ? std::numeric_limits<double>::infinity() : begin_of(*next);
        assert(next != pieces.end() || now > 0); // or the loop would not end
        if (now > 0 && work <= (until - at) * now) return at + work / now - began;
        work -= (until - at) * now;
        at = until;
    }
}

} // namespace weft::engine
