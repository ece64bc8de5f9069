#include "engine/worker/run_follower.hpp"

#include "engine/ports/host.hpp"
#include "engine/worker/engine.hpp"

#include <mutex>

namespace weft::engine {

void run_follower::root_begins(task& root) noexcept {
    const std::lock_guard held(lock_);
    if (open_++ == 0) of_.set_zone(of_.outermost.scheduler->run_begins(root, of_.host.now()));
    root.silent_ = of_.zone().lazy;
}

bool run_follower::continues() noexcept {
    const std::lock_guard held(lock_);
    return open_ > 0 && ++open_;
}

void run_follower::root_ended() noexcept {
    const std::lock_guard held(lock_);
    if (--open_ == 0) of_.outermost.scheduler->run_ended(of_.host.now());
}

} // namespace weft::engine
