#include "engine/model/virtual_parker.hpp"

#include "engine/model/model_engine.hpp"

#include <utility>

namespace weft::engine {

void virtual_parker::sleep() {
    if (!armed_) return;
    asleep_ = true;
    of_.model.turn(of_, activity::asleep);
    of_.model.block(of_);
    of_.model.turn(of_, activity::search);
}

bool virtual_parker::wake() noexcept {
    if (!std::exchange(armed_, false)) return false;
    if (std::exchange(asleep_, false)) {
        const runtime_charges& price = of_.model.on.charges();
        if (of_.model.never_sleeps()) { // it was only set aside until there would be something to look for
            of_.model.go_on(of_, 0);
            return true;
        }
        if (worker* w = impl::hot_self()) static_cast<model_worker*>(w)->pending_charges += price.wake;
        of_.model.go_on(of_, static_cast<time_ns>(price.woken));
    }
    return true;
}

} // namespace weft::engine
