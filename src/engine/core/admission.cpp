#include "engine/core/tracing.hpp"

/// The gate's word carried out.
namespace weft::engine {

void hand_on(worker& w, gate::released& out) {
    while (task* const t = out.tasks.pop_front()) offer(w, *t, why::granted);
    const int workers = w.eng.worker_count();
    for (const auto& [ranks, in] : out.at) {
        // With more workers than cores, several stand for one rank; and a team's ranks are its own.
        const bool one_each = !in->is_team() && workers <= w.eng.on.size();
        w.eng.announce_in(*in, one_each ? weft::workers{ranks.first, ranks.last} : in->all());
        w.eng.wake_standing_by(*in, ranks);
    }
}

bool admit(worker& w, task& t) {
    charge(w, operation::gate);
    gate::released out;
    const bool may = w.eng.door.admit(w.core, t, *t.claim_, out);
    const bool calls = may && t.claim_->cores.count > 0 && !t.claim_->is_settled();
    hand_on(w, out);
    note_what(w, may ? trace::kind::granted : trace::kind::refused, t, 0);
    if (calls) publish(w, t);
    return may && !calls;
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
    note_what(w, trace::kind::given, t, 0);
    claim& c = *t.claim_;
    t.claims_ = false;
    t.claim_ = c.above;
    gate::released out;
    w.eng.door.release(w.core, c, out);
    hand_on(w, out);
    leave_runtime();
}

} // namespace weft::engine
