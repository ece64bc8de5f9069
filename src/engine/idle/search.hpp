#pragma once

#include "engine/worker/ranks.hpp"

/// The search of a worker for its next task: README.md, "Search". These are pure steps, so the model check
/// runs the same ones as both engines. idle/worker_search.hpp says what each step is for a worker of an
/// engine.
///
/// `Site` has, for a worker w:
///
///   before_first_look(w)
///   is_active(w), is_called(w)      whether w takes part; whether a team calls it
///   first_look(w), look(w)          one look, with `t` (a task or null) and `ask` (a victim may be asked)
///   keeps_working(w)                the first look found a task
///   stops_working(w), search_ends(w), starts_working(w)
///   searching(w)                    the set of searching workers of w's arena
///   sleep(w)                        the sleep_protocol of w's arena, by ->
///   follow_call(w)                  true if w changed arenas
///   take_share(w)                   after that: its part of the team's task, or null
///   bound_task(w)                   a task that only workers of its rank may run, or null
///   wait_inactive(w)                returns when w is active again, or called, or the engine stops
///   ask(w, look)                    asks the victim of that look for a hidden entry: a task, or null
///   park(w)                         the whole of parking: a task, or null
///   is_stopping(w)
///   spin_budget(w)                  begin_look(); is_spent() after a look that found nothing; restart()
namespace weft::engine {

/// The next task of w, or null if w stops.
template <class Site, class Worker>
auto find_work(Site& site, Worker& w) {
    using found = decltype(site.look(w).t);
    site.before_first_look(w);
    if (site.is_active(w) && !site.is_called(w) && !site.is_stopping(w)) [[likely]]
        if (const found t = site.first_look(w).t) {
            site.keeps_working(w);
            return t;
        }

    site.stops_working(w);
    const auto show = [&] { site.searching(w).insert(rank(w.local)); };
    const auto hide = [&] { site.searching(w).erase(rank(w.local)); };
    show();
    found t{};
    auto budget = site.spin_budget(w);
    while (!t && !site.is_stopping(w)) {
        budget.begin_look();
        if (site.follow_call(w)) [[unlikely]] {
            t = site.take_share(w);
            show(); // in the arena that w has come to
            budget.restart();
            continue;
        }
        if (!site.is_active(w)) [[unlikely]] {
            if ((t = site.bound_task(w))) break;
            site.wait_inactive(w);
            show();
            budget.restart();
            continue;
        }
        const auto look = site.look(w);
        if ((t = look.t)) break;
        if (look.ask && (t = site.ask(w, look))) break;
        if (!budget.is_spent()) continue;
        hide(); // before the last look (S2): what is announced from here on wakes a parked worker
        t = site.park(w);
        show();
        budget.restart();
    }
    site.search_ends(w);
    if (!t) {
        hide();
        return t;
    }
    site.sleep(w)->stop_searching(w.local); // passes on the wakes that are pending at w (S2, S3)
    site.starts_working(w);
    return t;
}

} // namespace weft::engine
