#include "engine/model/virtual_parker.hpp"

#include "engine/model/model_engine.hpp"
#include "engine/model/model_worker.hpp"

#include <utility>

namespace weft::engine {

void virtual_parker::sleep() {
    if (!armed_) return;
    asleep_ = true;
    of_.model.set_activity(of_, activity::asleep);
    of_.model.sim->sleep_worker(of_);
    of_.model.set_activity(of_, activity::search);
}

bool virtual_parker::wake() noexcept {
    if (!std::exchange(armed_, false)) return false;
    if (std::exchange(asleep_, false)) {
        const runtime_charges& price = of_.model.machine.charges();
        if (of_.model.never_sleeps()) { // it was only set aside until there is something to find
            of_.model.sim->resume_worker(of_, 0);
            return true;
        }
        if (worker* w = impl::hot_self()) static_cast<model_worker*>(w)->pending_charges += price.wake;
        of_.model.sim->resume_worker(of_, static_cast<time_ns>(price.woken));
    }
    return true;
}

} // namespace weft::engine
