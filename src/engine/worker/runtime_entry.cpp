#include "engine/worker/runtime_entry.hpp"

namespace weft::engine {

[[gnu::noinline, gnu::cold]] void leave_runtime_slow_path(worker& w) noexcept {
    if (w.observed) w.meter.user_code_begins(w);
    bool asked = false;
    do {
        asked = !w.askers.empty();
        const bool signalled = w.signalled.load(std::memory_order_relaxed);
        if (asked || signalled) {
            w.signalled.store(false, std::memory_order_relaxed);
            w.host.answer(w, signalled);
            asked = !w.askers.empty();
        }
    } while (!try_to_leave(w, asked));
}

} // namespace weft::engine
