#include "engine/run/skipped_forks.hpp"

#include "engine/worker/runtime_entry.hpp"
#include "engine/worker/skip_watch.hpp"
#include "task/fiber.hpp"
#include "task/task.hpp"
#include "trace/write/event_sink.hpp"
#include "trace/write/log.hpp"

#include <weft/impl/entry.hpp>

#include <atomic>

namespace weft::engine {

namespace {

void begin(worker& w) noexcept {
    w.skipped.is_inside = true;
    w.skipped.watch->begins(w.hot->limit);
    w.log->interrupt_with([](void* of) { stop_skipping(*static_cast<worker*>(of)); }, &w);
}

void end(worker& w) noexcept {
    w.skipped.is_inside = false;
    w.skipped.watch->ends();
    w.log->interrupt_with(nullptr, nullptr);
}

/// Leaves the runtime. A tick must not come before `limit` is right: it may stop the skipping.
void leave() noexcept {
    const impl::tick_hold here;
    leave_runtime();
    const worker& w = *impl::hot_self();
    if (w.skipped.is_inside)
        w.hot->limit.store(reinterpret_cast<std::uintptr_t>(w.skipped.fork), std::memory_order_relaxed);
}

} // namespace

bool push_skipped(worker& w, impl::frame* above, impl::frame* f, std::uint32_t name) noexcept {
    skipped_fork& s = w.skipped;
    if (!s.is_inside) {
        s.fork = nullptr;
        trace::event_sink& to = *w.log->sink();
        if (w.current->running->preempt_ != preemption::off || !to.skips(name)) return false;
        to.skipped_begins(w.log->now());
        s.fork = f;
        s.above = above;
        s.of = w.current;
        begin(w);
    } else if (s.watch->asks()) {
        stop_skipping(w); // it has a number now
        leave();
        return true;
    }
    f->number = 0;
    w.current->numbered = f;
    leave();
    return true;
}

bool pop_skipped(worker& w, const impl::frame* f) noexcept {
    skipped_fork& s = w.skipped;
    if (!s.is_inside) return false;
    if (f == s.fork) {
        w.log->sink()->skipped_ends(w.log->now(), s.watch->asks());
        end(w);
    }
    leave();
    return true;
}

bool second_begins_skipped(const impl::frame& f, bool& is_marked) noexcept {
    is_marked = false;
    worker& w = *impl::hot_self();
    if (w.skipped.is_inside) return true;
    if (f.number != 0) return false;
    if (w.skipped.fork != &f) return true;
    begin(enter_runtime());
    leave();
    return is_marked = true;
}

void second_ends_skipped() noexcept {
    worker& w = enter_runtime();
    if (w.skipped.is_inside) {
        w.log->sink()->skipped_ends(w.log->now(), w.skipped.watch->asks());
        end(w);
    }
    w.skipped.fork = nullptr;
    leave_runtime();
}

void stop_skipping_slow_path(worker& w) noexcept {
    skipped_fork& s = w.skipped;
    end(w);
    trace::log& to = *w.log;
    to.sink()->skipped_is_followed(to.now());
    impl::frame* last = s.above;
    for (impl::frame* f = last->next; f; f = f->next) {
        f->number = to.new_task();
        to.note(trace::kind::spawn, f->number, 0, to.name({}, trace::address_of(f->run)),
                static_cast<std::uint8_t>(trace::origin::fork));
        last = f;
    }
    s.of->numbered = last;
    s.fork = nullptr;
}

} // namespace weft::engine
