#pragma once

#include "engine/worker/ranks.hpp"

/// How a worker comes by its next task: engine/threads/README.md, "Sleep". Pure steps, so that the model check runs them as both
/// engines do; idle/worker_search.hpp says what each step is for a worker of an engine.
///
/// `Site` has, for a worker w:
///
///   arrives(w)                 before the first look
///   is_active(w), is_called(w) whether it takes part; whether a team calls it
///   at_hand(w), look(w)        one look, with `t` (a task or null) and `ask` (a victim may be asked)
///   keeps_working(w)           the look at hand found something
///   stops_working(w), search_ends(w), starts_working(w)
///   searching(w)               the set of searching workers of its arena
///   sleep(w)                   the sleep_protocol of its arena, by ->
///   follow_call(w)             true if it changed arenas; take_share(w) is its part of the team's task, or null
///   bound_task(w)              a task that only workers of its rank may run, or null
///   wait_inactive(w)           returns when it is active again, or called, or the engine stops
///   ask(w, look)               asks the victim of that look for a hidden entry: a task, or null
///   park(w)                    the whole of going to sleep: a task, or null
///   is_stopping(w)
///   pace(w)                    begins_look(), is_over() after a look in vain, restart()
namespace weft::engine {

/// Returns null only if the engine stops.
template <class Site, class Worker>
auto find_work(Site& site, Worker& w) {
    using found = decltype(site.look(w).t);
    site.arrives(w);
    if (site.is_active(w) && !site.is_called(w)) [[likely]]
        if (const found t = site.at_hand(w).t) {
            site.keeps_working(w);
            return t;
        }

    site.stops_working(w);
    const auto show = [&] { site.searching(w).insert(rank(w.local)); };
    const auto hide = [&] { site.searching(w).erase(rank(w.local)); };
    show();
    found t{};
    auto pace = site.pace(w);
    while (!t && !site.is_stopping(w)) {
        pace.begins_look();
        if (site.follow_call(w)) [[unlikely]] {
            t = site.take_share(w);
            show(); // in the arena that it has come to
            pace.restart();
            continue;
        }
        if (!site.is_active(w)) [[unlikely]] {
            if ((t = site.bound_task(w))) break;
            site.wait_inactive(w);
            show();
            pace.restart();
            continue;
        }
        const auto look = site.look(w);
        if ((t = look.t)) break;
        if (look.ask && (t = site.ask(w, look))) break;
        if (!pace.is_over()) continue;
        hide(); // before the last look: what is announced from here on wakes a parked worker
        t = site.park(w);
        show();
        pace.restart();
    }
    site.search_ends(w);
    if (!t) {
        hide();
        return t;
    }
    site.sleep(w)->stop_searching(w.local);
    site.starts_working(w);
    return t;
}

} // namespace weft::engine
