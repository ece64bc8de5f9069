#include "engine/model/model_engine.hpp"
#include "engine/model/virtual_clock.hpp"
#include "engine/run/switch.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/worker/notes.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// How virtual time passes: which worker resumes when, and what user code and the runtime cost.
namespace weft::engine {

namespace {

/// CPU time of the calling thread, in nanoseconds.
double cpu_time() noexcept {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// CPU time of a stretch without any code, which is two readings of the clock; in nanoseconds.
double cpu_time_of_nothing() noexcept {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 1000; ++i) {
        const double began = cpu_time();
        least = std::min(least, cpu_time() - began);
    }
    return least;
}

work_kind kind_of(work w) noexcept {
    return w == work::compute  ? work_kind::compute
           : w == work::memory ? work_kind::memory
                               : work_kind::general;
}

} // namespace

void model_engine::set_activity(model_worker& w, activity what) noexcept {
    const activity did = w.times.current();
    if (w.log && now() > w.times.since() && did != activity::waits_for_core) {
        const task* t = did <= activity::shared_stall ? w.current->running : nullptr;
        note(w, trace::kind::activity, static_cast<std::uint64_t>(w.times.since()), t ? t->number_ : 0, 0,
             static_cast<std::uint8_t>(did));
    }
    w.times.begin(what, now());
}

// ---- what takes time

void model_engine::spend_time(model_worker& w, double ns, activity what) noexcept {
    const time_ns whole = whole_part_of(w, ns);
    if (whole < 1) return;
    set_activity(w, what);
    sim->advance(w, whole);
    set_activity(w, what);
}

time_ns model_engine::whole_part_of(model_worker& w, double ns) noexcept {
    const double due = ns + w.time_fraction;
    const time_ns whole = whole_ns(due);
    w.time_fraction = due - static_cast<double>(whole);
    return whole;
}

time_ns model_engine::time_of(model_worker& w, double charges) noexcept {
    return whole_part_of(w,
                         sim->speed.duration(w.core(), charges, work_kind::general, now(), w.time_fraction));
}

void model_engine::do_work(model_worker& w, double ns, work_kind kind, activity what) noexcept {
    time_ns spent = 0;
    work_until(w, ns, kind, what, end_of_time, spent);
}

void model_engine::flush_charges(model_worker& w, activity what) noexcept {
    if (const double due = std::exchange(w.pending_charges, 0); due > 0)
        do_work(w, due, work_kind::general, what);
    if (const double due = std::exchange(w.exchange_ns, 0); due > 0) spend_time(w, due, what);
}

void model_engine::charge(worker& w, operation o) noexcept {
    const runtime_charges& price = machine.charges();
    double& pending = static_cast<model_worker&>(w).pending_charges;
    double due = 0;
    switch (o) {
    case operation::fork: due = price.fork; break;
    case operation::spawn: due = price.spawn; break;
    case operation::start: due = price.start; break;
    case operation::suspend: due = price.suspend; break;
    case operation::wait: due = price.wait; break;
    case operation::gate: due = price.lock; break;
    }
    // A stack is new if more are in use than ever before. What the pool unmaps meanwhile, by a clock, does not count.
    if (const std::size_t stacks = price.stack > 0 ? fibers.peak() : most_stacks; stacks > most_stacks) {
        const time_ns comes = now() + whole_ns(pending + due);
        const time_ns waits = std::max<time_ns>(stacks_mapped_at - comes, 0);
        const double takes = price.stack * static_cast<double>(stacks - std::exchange(most_stacks, stacks));
        stacks_mapped_at = comes + waits + whole_ns(takes);
        due += static_cast<double>(waits) + takes;
    }
    pending += due;
}

void model_engine::user_code_begins(worker& of) noexcept {
    auto& w = static_cast<model_worker&>(of);
    flush_charges(w, activity::overhead);
    sim->stretches.fetch_add(1, std::memory_order_relaxed);
    if (w.times_tasks) w.user_code_began = now();
    if (options.measures) w.cpu_began = cpu_time();
}

void model_engine::user_code_ends(worker& of) noexcept {
    auto& w = static_cast<model_worker&>(of);
    const bool has_declared = std::exchange(w.has_declared, false);
    if (options.measures && !has_declared) {
        static const double nothing = cpu_time_of_nothing();
        const double took = std::max(0.0, cpu_time() - w.cpu_began - nothing);
        const time_ns began = now();
        do_work(w, took * machine.model().host_speed, work_kind::general, activity::compute);
        w.has_cost = true;
        w.computed_ns += static_cast<double>(now() - began);
    }
    await_data(w);
    if (w.times_tasks) w.current->running->self_ns_ += now() - w.user_code_began;
}

void model_engine::declare_cost(worker& of, std::uint64_t cycles, work kind) noexcept {
    auto& w = static_cast<model_worker&>(of);
    if (w.counts_misses) w.current->running->counts_.instructions += cycles;
    const double whole = sim->speed.work_of_cycles(static_cast<double>(cycles), kind == work::vector);
    // The data that were declared before the cost have been waited for on the way here.
    const double hidden = machine.model().overlap * std::min(whole, std::exchange(w.waited_ns, 0));
    if (std::exchange(w.has_cost, true)) w.works_on.clear(); // it has declared nothing for this one
    compute(w, whole - hidden, kind_of(kind)).has_declared = true;
}

model_worker& model_engine::compute(model_worker& begins_on, double ns, work_kind kind) noexcept {
    model_worker* w = &begins_on;
    for (;;) {
        const time_ns tick = next_tick(*w);
        if (tick > now()) {
            time_ns spent = 0;
            const auto left = work_until(*w, ns, kind, activity::compute, tick, spent);
            w->computed_ns += static_cast<double>(spent);
            if (w->times_tasks) w->current->running->self_ns_ += spent;
            if (!left) return *w;
            ns = *left;
        }
        w = &handle_tick(*w);
    }
}

// ---- data

void model_engine::declare_data(worker& of, const void* first, std::size_t bytes, access how) noexcept {
    auto& w = static_cast<model_worker&>(of);
    const int core = w.core();
    const std::uint64_t before = sim->data.of_worker(core).beyond_private;
    sim->data.touch(core, first, bytes, how, w.touched, static_cast<double>(now()));
    if (need.exchanges && how == access::readwrite) {
        constexpr std::size_t most = 64; // of a task that declares all its data one by one, the first
        if (std::exchange(w.has_cost, false)) w.works_on.clear();
        if (w.works_on.size() < most) w.works_on.push_back({first, bytes});
    }
    if (w.counts_misses)
        w.current->running->counts_.misses += sim->data.of_worker(core).beyond_private - before;
    constexpr std::size_t line_bytes = 64;
    w.loads += (bytes + line_bytes - 1) / line_bytes;
}

void model_engine::declare_home(const void* first, std::size_t bytes, std::optional<int> node) {
    if (!node) return sim->data.interleave(first, bytes);
    if (*node < 0 || *node >= sim->data.node_count())
        throw error(
            "data were bound to a memory node that does not exist", fmt::format("node {}", *node),
            fmt::format("0 to {}, the nodes of machine '{}'", sim->data.node_count() - 1, machine.name()));
    sim->data.bind(first, bytes, *node);
}

void model_engine::await_data(model_worker& w) noexcept {
    transfer& t = w.touched;
    const double computed_ns = std::exchange(w.computed_ns, 0);
    w.waited_ns = 0;
    if (t.empty()) return;
    const double share = sim->speed.share(w.core(), now());
    // A core fetches lines while it computes. A part of what the stretch has computed is taken off the wait, and a part of
    // the wait off what it computes next; under contention the data need as long as ever.
    const double alone = (t.private_ns() + t.shared_ns()) / share;
    const double left = alone > 0 ? 1 - machine.model().overlap * std::min(computed_ns, alone) / alone : 1;
    w.waited_ns = alone * left;
    const double private_ns = t.private_ns() / share * left, shared_ns = t.shared_ns() / share * left;
    const bool limited = std::any_of(t.uses.begin(), t.uses.end(),
                                     [&](const auto& u) { return sim->bandwidth.has_limit(u.resource); });
    if (!limited) {
        spend_time(w, private_ns, activity::private_stall);
        spend_time(w, shared_ns, activity::shared_stall);
    } else {
        const time_ns began = now();
        constexpr double least = 1e-3; // ns: for a machine that has bandwidths and no latencies
        // While the core waits for the first line, its data take no bandwidth from others.
        const double latency = t.latency_ns() / share * left;
        spend_time(w, latency, activity::shared_stall);
        await_transfer(w, std::max(private_ns + shared_ns - latency, least), t.bytes, t.uses);
        w.times.reassign(activity::shared_stall, activity::private_stall,
                         std::min(now() - began, whole_ns(private_ns)));
    }
    t.clear();
}

void model_engine::declare_transfer(worker& of, std::size_t disk, std::size_t bytes) noexcept {
    auto& w = static_cast<model_worker&>(of);
    const weft::disk& d = machine.disks()[disk];
    const time_ns began = now();
    sim->disk_bytes[disk] += bytes;
    spend_time(w, d.latency_ns.value_or(0), activity::shared_stall);
    if (bytes > 0) {
        const auto all = static_cast<double>(bytes);
        const shared_bandwidth::use whole{static_cast<int>(sim->first_disk + disk), all};
        set_activity(w, activity::shared_stall);
        sim->await_disk(w, all / d.bandwidth_gbps, all, {&whole, 1});
        set_activity(w, activity::shared_stall);
    }
    if (w.times_tasks) w.current->running->self_ns_ += now() - began;
}

void model_engine::await_transfer(model_worker& w, double least_ns, double bytes,
                                  std::span<const shared_bandwidth::use> of) {
    set_activity(w, activity::shared_stall);
    sim->await_transfer(w, least_ns, bytes, of);
    set_activity(w, activity::shared_stall);
}

// ---- timers

void model_engine::set_timer(timer& t) {
    alarm& a = alarms[&t];
    a = {this, &t, 0};
    a.event = sim->events.push(
        std::max(t.at, now()),
        [](void* what) {
            timer& due = *static_cast<alarm*>(what)->of;
            static_cast<alarm*>(what)->engine->alarms.erase(&due);
            due.fire(due);
        },
        &a);
}

void model_engine::cancel_timer(timer& t) noexcept {
    const auto at = alarms.find(&t);
    if (at == alarms.end()) return; // it has fired
    sim->events.cancel(at->second.event);
    alarms.erase(at);
}

// ---- submitted tasks

void model_engine::submit(task& t, ready_reason reason) {
    t.arrives_as_ = static_cast<std::uint8_t>(reason);
    if (sim->runs_here()) {
        const worker* w = impl::hot_self();
        if (reason == ready_reason::root) ++open_roots;
        arena& to = *t.arena_;
        to.inbox.push(&t);
        announce_in(to, to.all(), w && &w->arena() == &to ? w->local : 0);
        return;
    }
    sim->submit(t);
}

void model_engine::wait_outside(thread_waiter& until, task* root) {
    if (root) submit(*root, ready_reason::root);
    until.wait();
}

} // namespace weft::engine
