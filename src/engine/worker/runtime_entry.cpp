#include "engine/worker/runtime_entry.hpp"

namespace weft::engine {

[[gnu::noinline, gnu::cold]] void leave_runtime_slow_path() noexcept {
    for (bool first = true;; first = false) {
        worker& w = *impl::hot_self(); // anew: after a try the task may have been preempted
        if (first && w.observed) w.meter.user_code_begins(w);
        bool asked = !w.askers.empty();
        const bool signalled = w.hot->signalled.load(std::memory_order_relaxed);
        if (asked || signalled) {
            w.hot->signalled.store(false, std::memory_order_relaxed);
            w.host.answer(w, signalled);
            asked = !w.askers.empty();
        }
        if (try_to_leave(w, asked)) return;
    }
}

} // namespace weft::engine
