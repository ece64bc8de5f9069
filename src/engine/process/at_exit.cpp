#include "engine/process/at_exit.hpp"

#include "engine/process/process.hpp"
#include "engine/worker/engine.hpp"

#include <cstdlib>
#include <mutex>
#include <utility>

namespace weft::engine {

namespace {

// Without a destructor, guarded by process_lock().
constinit at_exit* first = nullptr;
constinit bool is_hooked = false;

} // namespace

void at_exit::enter(engine& of) {
    const std::lock_guard guard(process_lock());
    of_ = &of;
    next_ = std::exchange(first, this);
    if (next_) next_->previous_ = this;
    if (!std::exchange(is_hooked, true)) std::atexit([] { finish_all(); });
}

void at_exit::leave() noexcept {
    if (!of_) return; // written by who makes and destroys the engine
    const std::lock_guard guard(process_lock());
    of_ = nullptr;
    (previous_ ? previous_->next_ : first) = next_;
    if (next_) next_->previous_ = previous_;
}

void at_exit::finish_all() noexcept {
    // Nobody else makes or destroys engines any more, or does so at their own peril.
    for (const at_exit* a = first; a; a = a->next_)
        if (a->of_->of_this_process()) a->of_->finish_files();
}

} // namespace weft::engine
