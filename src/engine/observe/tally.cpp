#include "engine/observe/tally.hpp"

#include "engine/worker/engine.hpp"

#include <algorithm>

namespace weft::engine {

void tally::take(const engine& e, time_ns now) {
    began = at = now;
    workers.resize(static_cast<std::size_t>(e.worker_count()));
    for (int rank = 0; rank < e.worker_count(); ++rank) {
        const auto& count = e.worker_at(rank).count;
        workers[static_cast<std::size_t>(rank)] = {count.tasks.get(),
                                                   count.steals.get(),
                                                   count.exposures.get(),
                                                   count.suppressed.get(),
                                                   count.exchanges.get(),
                                                   count.refused_exchanges.get(),
                                                   count.idle.until(now),
                                                   count.asleep.until(now),
                                                   static_cast<time_ns>(count.paced.get()),
                                                   static_cast<time_ns>(count.used.get())};
    }
}

tally tally::since(const tally& earlier) const {
    tally d = *this;
    d.began = earlier.at;
    for (std::size_t i = 0; i < d.workers.size(); ++i) {
        worker& w = d.workers[i];
        const worker& before = earlier.workers[i];
        w.tasks -= before.tasks;
        w.steals -= before.steals;
        w.exposures -= before.exposures;
        w.suppressed -= before.suppressed;
        w.exchanges -= before.exchanges;
        w.refused_exchanges -= before.refused_exchanges;
        w.paced -= before.paced;
        w.used -= before.used;
        w.idle = std::clamp<time_ns>(w.idle - before.idle, 0, d.elapsed());
        w.asleep = std::clamp<time_ns>(w.asleep - before.asleep, 0, w.idle);
    }
    return d;
}

tally::worker tally::total() const noexcept {
    worker t;
    for (const worker& w : workers) {
        t.tasks += w.tasks;
        t.steals += w.steals;
        t.exposures += w.exposures;
        t.suppressed += w.suppressed;
        t.exchanges += w.exchanges;
        t.refused_exchanges += w.refused_exchanges;
        t.idle += w.idle;
        t.asleep += w.asleep;
        t.paced += w.paced;
        t.used += w.used;
    }
    return t;
}

} // namespace weft::engine
