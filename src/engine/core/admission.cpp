#include "engine/core/switch.hpp"

/// The gate's word carried out.
namespace weft::engine {

namespace {

void hand_on(worker& w, gate::released& out) {
    while (task* const t = out.tasks.pop_front()) offer(w, *t, why::granted);
    const int workers = w.eng.worker_count();
    for (const rank_range ranks : out.at) {
        // With more workers than cores, several stand for one rank.
        const bool one_each = workers <= w.eng.on.size();
        w.eng.announce(
            w, {workers, one_each ? weft::workers{ranks.first, ranks.last} : weft::workers{0, workers}});
    }
}

} // namespace

bool admit(worker& w, task& t) {
    charge(w, operation::gate);
    gate::released out;
    const bool may = w.eng.door.admit(w.core, t, *t.claim_, out);
    hand_on(w, out);
    return may;
}

void rest_claim(worker& w, task& t) {
    charge(w, operation::gate);
    gate::released out;
    w.eng.door.rest(w.core, *t.claim_, out);
    hand_on(w, out);
}

void give_back_claim() {
    worker& w = enter_runtime();
    charge(w, operation::gate);
    task& t = *w.current->running;
    claim& c = *t.claim_;
    t.claims_ = false;
    t.claim_ = c.above;
    gate::released out;
    w.eng.door.release(w.core, c, out);
    hand_on(w, out);
    leave_runtime();
}

} // namespace weft::engine
