#include "engine/team/admission.hpp"

#include "engine/ports/team_host.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/independent_tasks.hpp"
#include "engine/worker/notes.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/runtime_entry.hpp"
#include "task/sanitizers.hpp"

namespace weft::engine {

namespace {

/// Announces to the members of `in` on cores of these ranks, and to no others: a member that cannot run the
/// task would wake and find none. With more workers than cores, or in a team, whose members may have any
/// cores, the members on these cores form several runs of local ranks. Each run is told, since all members of
/// another run may be busy.
void announce_on(arena& in, rank_range ranks) {
    for (worker_id first = 0; first < in.size();) {
        worker_id last = first;
        while (last < in.size() && ranks.contains(in.members[rank(last)]->core())) ++last;
        if (last > first) in.engine.teams.announce_in(in, {first, last});
        first = last + 1;
    }
}

} // namespace

void offer_released(worker& w, gate::released& out) {
    while (task* const t = out.tasks.pop_front()) offer(w, *t, ready_reason::granted);
    for (const auto& [ranks, in] : out.at) {
        announce_on(*in, ranks);
        w.engine.teams.wake_inactive(*in, ranks);
    }
}

bool admit(worker& w, task& t) {
    const sanitizer::unseen gate_and_claims;
    charge(w, operation::gate);
    gate::released out;
    const bool may = w.engine.gate.admit(w.core(), t, *t.claim_, out);
    const bool calls = may && t.claim_->cores.count > 0 && !t.claim_->is_settled();
    offer_released(w, out);
    note_what(w, may ? trace::kind::granted : trace::kind::refused, t, 0);
    const bool goes_on = may && !calls;
    if (!goes_on) turned_away(w);
    if (calls) publish(w, t);
    return goes_on;
}

void pause_claim(worker& w, task& t) {
    const sanitizer::unseen gate_and_claims;
    charge(w, operation::gate);
    gate::released out;
    w.engine.gate.rest(w.core(), *t.claim_, out);
    offer_released(w, out);
}

void release_claim() {
    worker& w = enter_runtime();
    const sanitizer::unseen gate_and_claims;
    charge(w, operation::gate);
    task& t = *w.current->running;
    note_what(w, trace::kind::given, t, 0);
    claim& c = *t.claim_;
    t.claims_ = false;
    t.claim_ = c.above;
    gate::released out;
    w.engine.gate.release(w.core(), c, out);
    offer_released(w, out);
    leave_runtime();
}

} // namespace weft::engine
