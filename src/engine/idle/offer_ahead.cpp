#include "engine/idle/offer_ahead.hpp"

#include "engine/idle/exposure.hpp"
#include "engine/run/tasks.hpp"
#include "engine/worker/charge.hpp"
#include "engine/worker/offers_ahead.hpp"

#include <algorithm>
#include <new>

namespace weft::engine {

namespace {

/// False if there is no hidden entry, or no memory for its task; or if the entry is one of a graph's run or
/// of a future. A worker that takes an entry of a graph's run continues with tasks that were set aside, so
/// each offer that comes back to its owner would keep a stack until the end of the run.
bool offer_oldest(worker& w) noexcept {
    fiber* of = nullptr;
    impl::frame* const entry = oldest_hidden(w, of);
    if (!entry) return false;
    if (const group* const in = of->running->scope_; in && in->apart_) return false;
    if (!entry->run) count_handover(w, *of->running, *static_cast<continuation*>(entry)->in);
    w.ahead.waiting.fetch_add(1, std::memory_order_relaxed);
    charge(w, operation::spawn);
    try {
        expose_to_all(w, *of, *entry, static_cast<std::int16_t>(w.id));
        return true;
    } catch (const std::bad_alloc&) {
        w.ahead.waiting.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
}

} // namespace

void offer_ahead(worker& w) noexcept {
    if (!has_ahead_mark(w)) [[likely]]
        return;
    if (w.engine.fibers.is_short()) return; // the owner of an offer may have to wait for it on another stack
    offers_ahead& o = w.ahead;
    const auto waiting = [&] { return o.waiting.load(std::memory_order_relaxed); };
    if (o.taken.load(std::memory_order_relaxed)) {
        o.taken.store(false, std::memory_order_relaxed);
        // Thieves have taken every offer since the last look, so more thieves look than there are offers.
        if (waiting() == 0) o.wanted = std::min(2 * o.wanted, w.arena().active().size());
        begin_offering_ahead(w);
    }
    bool found = true;
    while (found && o.credit > 0 && waiting() < o.wanted) {
        found = offer_oldest(w);
        --o.credit;
    }
    if (o.credit == 0) o.wanted = 1;
    if (o.credit == 0 || waiting() >= o.wanted) w.askers.erase(ahead_mark(w));
}

} // namespace weft::engine
