#include "engine/threads/preemption/ticks.hpp"

#include "engine/process/signal_claim.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/thread_engine.hpp"

#include <csignal>
#include <ctime>

#include <pthread.h>

namespace weft::engine {

namespace {

constexpr std::int64_t second = 1'000'000'000;

timespec as_timespec(std::int64_t ns) noexcept {
    return {static_cast<time_t>(ns / second), static_cast<long>(ns % second)};
}

} // namespace

ticks::ticks(thread_engine& of, const preemption_options& o) noexcept : of_(of), how_(o) {}

void ticks::begin() {
    const tick_groups of(how_, of_.worker_count());
    groups_ = std::make_unique<group[]>(static_cast<std::size_t>(of.count()));
    for (int g = 0; g < of.count(); ++g) {
        group& made = groups_[static_cast<std::size_t>(g)];
        made.first = of.first(g);
        made.last = of.last(g);
        made.phase_ns = of.phase_ns(g);
    }
}

ticks::group& ticks::group_of(const thread_worker& w) const noexcept {
    return groups_[static_cast<std::size_t>(tick_groups(how_, of_.worker_count()).of(w.id))];
}

// ---- timers

bool ticks::make_timer(kernel_thread& t) noexcept {
    sigevent how{};
    how.sigev_notify = SIGEV_THREAD_ID;
    how.sigev_signo = tick_signal();
#ifdef sigev_notify_thread_id
    how.sigev_notify_thread_id = t.id;
#else
    how._sigev_un._tid = t.id;
#endif
    t.has_timer = timer_create(CLOCK_MONOTONIC, &how, &t.timer) == 0;
    return t.has_timer;
}

void ticks::delete_timer(kernel_thread& t) noexcept {
    if (t.has_timer) timer_delete(t.timer);
    t.has_timer = false;
}

void ticks::arm(const group& g, kernel_thread& t) const noexcept {
    const std::int64_t interval = how_.interval.count();
    itimerspec when{as_timespec(interval), as_timespec(interval)};
    int flags = 0;
    if (how_.timers != tick_timers::created) {
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::int64_t since = now.tv_sec * second + now.tv_nsec - g.phase_ns;
        when.it_value = as_timespec((since / interval + 1) * interval + g.phase_ns);
        flags = TIMER_ABSTIME;
    }
    timer_settime(t.timer, flags, &when, nullptr);
    t.is_armed = true;
}

void ticks::disarm(kernel_thread& t) noexcept {
    if (!t.is_armed) return;
    const itimerspec never{};
    timer_settime(t.timer, 0, &never, nullptr);
    t.is_armed = false;
}

// ---- leaders (Y6)

void ticks::try_to_lead(group& g, thread_worker& w) noexcept {
    if (w.kernel && g.lead.take(w)) arm(g, *w.kernel);
}

void ticks::runs(thread_worker& w, bool preemptible, bool here) noexcept {
    group::leader::needs_ticks(w, preemptible);
    if (!preemptible) return;
    group& g = group_of(w);
    if (!g.lead.is_led_by(w)) return try_to_lead(g, w);
    if (here && w.kernel && !w.kernel->is_armed) arm(g, *w.kernel); // see comes()
}

void ticks::pauses(thread_worker& w) noexcept {
    group& g = group_of(w);
    const auto members = [&](auto&& of_each) {
        for (int i = g.first; i < g.last; ++i) of_each(*of_.all_workers[static_cast<std::size_t>(i)]);
    };
    const auto tell = [&](worker& m) { send(static_cast<thread_worker&>(m)); }; // it or another one will lead
    g.lead.give_up(w, [&] { disarm(*w.kernel); }, members, tell);
}

void ticks::leaves(thread_worker& w, kernel_thread& t) noexcept {
    if (group_of(w).lead.is_led_by(w)) disarm(t);
}

/// A thread that only looks for a task needs no ticks, unless it sends them to others: often it finds one whose own thread takes
/// the worker at once.
void ticks::comes(thread_worker& w, kernel_thread& t, bool with_task) noexcept {
    group& g = group_of(w);
    if (g.lead.is_led_by(w)) {
        if (with_task || !is_of_one(g)) arm(g, t);
    } else if (w.ticks.load(std::memory_order_seq_cst)) {
        try_to_lead(g, w); // the leader may have sent its last tick to the occupant before (Y8)
    }
}

// ---- in the handler

void ticks::send(thread_worker& to) noexcept {
    if (to.tick_out.exchange(true, std::memory_order_seq_cst)) return;
    forwarded_.fetch_add(1, std::memory_order_relaxed);
    if (pthread_kill(reached(to)->thread, tick_signal()) != 0)
        to.tick_out.store(false, std::memory_order_seq_cst);
}

void ticks::arrives(thread_worker& w, bool of_timer) noexcept {
    group& g = group_of(w);
    if (of_timer)
        of_timers_.fetch_add(1, std::memory_order_relaxed);
    else
        w.tick_out.store(false, std::memory_order_seq_cst); // before it reads the leader (Y8)
    if (w.ticks.load(std::memory_order_relaxed)) try_to_lead(g, w);
    if (is_of_one(g)) return;
    const worker* const leader = g.lead.leader();
    if (of_timer && leader != &w) return; // a late tick: the worker has given the lead up
    const auto at = [&](int i) -> thread_worker& { return *of_.all_workers[static_cast<std::size_t>(i)]; };
    if (how_.timers == tick_timers::one_to_all) {
        for (int i = g.first; of_timer && i < g.last; ++i)
            if (i != w.id && at(i).ticks.load(std::memory_order_relaxed)) send(at(i));
        return;
    }
    for (int i = w.id;;) { // the next one in the ring, up to the leader
        if (++i == g.last) i = g.first;
        if (i == w.id || &at(i) == leader) return;
        if (at(i).ticks.load(std::memory_order_relaxed)) return send(at(i));
    }
}

} // namespace weft::engine
