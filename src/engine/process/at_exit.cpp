#include "engine/process/at_exit.hpp"

#include "engine/process/process.hpp"

#include <cstdlib>
#include <mutex>
#include <utility>

namespace weft::engine {

namespace {

// Without destructors; guarded by process_lock().
constinit at_exit* first = nullptr;
constinit bool is_hooked = false;

} // namespace

void at_exit::enter(void (*finish)(void*) noexcept, void* of) {
    const std::lock_guard guard(process_lock());
    finish_ = finish;
    of_ = of;
    next_ = std::exchange(first, this);
    if (next_) next_->previous_ = this;
    if (!std::exchange(is_hooked, true)) std::atexit([] { finish_all(); });
}

void at_exit::leave() noexcept {
    if (!finish_) return; // only the thread that makes and destroys the engine writes it
    const std::lock_guard guard(process_lock());
    finish_ = nullptr;
    (previous_ ? previous_->next_ : first) = next_;
    if (next_) next_->previous_ = previous_;
}

void at_exit::finish_all() noexcept {
    // No lock: a program must not make or destroy engines while the process ends.
    for (const at_exit* a = first; a; a = a->next_) a->finish_(a->of_);
}

} // namespace weft::engine
