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

void tally::worker::add(const worker& w) noexcept {
    tasks += w.tasks;
    steals += w.steals;
    exposures += w.exposures;
    suppressed += w.suppressed;
    exchanges += w.exchanges;
    refused_exchanges += w.refused_exchanges;
    idle += w.idle;
    asleep += w.asleep;
    paced += w.paced;
    used += w.used;
}

void tally::add(const tally& other) {
    at += other.elapsed();
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i].add(other.workers[i]);
}

tally::worker tally::total() const noexcept {
    worker t;
    for (const worker& w : workers) t.add(w);
    return t;
}

} // namespace weft::engine
