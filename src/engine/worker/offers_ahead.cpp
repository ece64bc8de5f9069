#include "engine/worker/offers_ahead.hpp"

#include "engine/ports/host.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/engine.hpp"

#include <algorithm>
#include <utility>

namespace weft::engine {

std::uint32_t ahead_mark(const worker& w) noexcept { return rank(w.engine.worker_count()) + 1; }

bool has_ahead_mark(const worker& w) noexcept { return w.askers.contains(ahead_mark(w)); }

void begin_offering_ahead(worker& w) noexcept {
    constexpr int offers_a_steal = 4; // the least number; it limits the offers per steal that no thief takes
    if (!w.engine.need.offers_ahead || !w.ahead.pays(w.host.now())) return;
    w.ahead.credit = std::max(offers_a_steal, 2 * w.ahead.wanted);
    w.askers.insert(ahead_mark(w));
}

void count_offer(worker& w, task& t) noexcept {
    worker& by = w.engine.worker_at(std::exchange(t.offered_by_, std::int16_t{-1}));
    const int others = by.ahead.waiting.fetch_sub(1, std::memory_order_relaxed) - 1;
    if (&by == &w) {
        if (w.ahead.credit > 0) w.askers.insert(ahead_mark(w));
        return;
    }
    by.ahead.taken.store(true, std::memory_order_relaxed);
    by.askers.insert(ahead_mark(by));
    by.host.call_attention(by);
    begin_offering_ahead(w);
    // Each announcement tells one worker, and several may have told the same.
    if (others > 0) w.host.announce(w, {.at = w.local, .who = w.arena().active()});
}

} // namespace weft::engine
