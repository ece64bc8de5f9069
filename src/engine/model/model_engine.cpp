#include "engine/model/model_engine.hpp"

#include "engine/core/switch.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <cxxabi.h>
#include <pthread.h>

namespace weft::engine {

namespace {

/// Needs that this engine cannot meet, by name.
void refuse(const needs& n) {
    const std::pair<bool, const char*> unmet[] = {{n.preempts, "preemption"},
                                                  {n.molds, "molding"},
                                                  {n.exchanges, "exchange of cores"},
                                                  {n.snapshots, "snapshots"},
                                                  {n.tick != 0, "ticks"}};
    for (const auto& [needed, name] : unmet)
        if (needed)
            throw error("the policy needs what the model engine does not offer", name,
                        "a policy without that need");
    if (n.task_bytes > max_task_bytes || n.group_bytes > max_group_bytes)
        throw error("the policy asks for too many bytes in each task or group",
                    fmt::format("{} and {}", n.task_bytes, n.group_bytes),
                    fmt::format("at most {} and {}", max_task_bytes, max_group_bytes));
}

[[noreturn]] void not_offered() { std::abort(); } // refuse() keeps policies that would call it out

} // namespace

model_worker::model_worker(worker_id rank, model_engine& of, std::size_t workers, std::uint64_t seed)
    : worker(rank, of, workers)
    , model(of) {
    std::seed_seq words{seed, static_cast<std::uint64_t>(rank)};
    std::uint32_t own = 0;
    words.generate(&own, &own + 1);
    random.seed(own | 1);
    slow = observed = true;
}

model_engine::model_engine(std::unique_ptr<policy> p, machine m, const model_engine_options& o)
    : engine(std::move(p), std::move(m), o.stack_bytes, o.keep_fibers)
    , options(o)
    , searching(static_cast<std::size_t>(o.workers))
    , parked(static_cast<std::size_t>(o.workers))
    , active_count(o.workers) {
    const auto count = static_cast<std::size_t>(o.workers);
    for (std::size_t i = 0; i < count; ++i)
        crew.push_back(std::make_unique<model_worker>(static_cast<worker_id>(i), *this, count, o.seed));
    need = scheduler->attach(on, *this);
    refuse(need);
    for (auto& w : crew) {
        w->meters = need.own_usage;
        w->current = fibers.take();
        w->current->reset_chain();
    }
    impl::models.fetch_add(1, std::memory_order_relaxed);
    thread = std::thread([this] { run_thread(); });
    settle();
}

model_engine::~model_engine() {
    {
        const std::lock_guard lock(arriving);
        stopping = true;
        arrived_or_stopping.notify_all();
    }
    thread.join();
    impl::models.fetch_sub(1, std::memory_order_relaxed);
    for (auto& w : crew) {
        fibers.give(w->current);
        while (fiber* f = w->free_fibers) {
            w->free_fibers = f->free_next;
            fibers.give(f);
        }
    }
}

void model_engine::end_threads_at_exit() noexcept {
    {
        const std::lock_guard lock(arriving);
        if (!quiet) return;
        stopping = true;
        arrived_or_stopping.notify_all();
    }
    thread.join();
}

void model_engine::settle() {
    std::unique_lock lock(arriving);
    became_quiet.wait(lock, [&] { return quiet; });
}

std::uint32_t model_engine::random(worker_id w, std::uint32_t below) {
    const std::uint64_t r = crew[static_cast<std::size_t>(w)]->random(); // 31 bits
    return static_cast<std::uint32_t>((r * below) >> 31);
}

void model_engine::post(worker_id, worker_id, int, task*) { not_offered(); }
void model_engine::exchange(worker_id, worker_id) { not_offered(); }
void model_engine::preempt(worker_id) { not_offered(); }
std::span<task*> model_engine::mold(task&, int) { not_offered(); }
snapshot model_engine::running(worker_id) const { not_offered(); }
usage model_engine::so_far(const task&) const { not_offered(); }

// ---- sleep

void virtual_bed::sleep() {
    if (!armed_) return;
    asleep_ = true;
    of_.model.block(of_);
}

bool virtual_bed::wake() noexcept {
    if (!std::exchange(armed_, false)) return false;
    if (std::exchange(asleep_, false)) {
        if (worker* w = impl::hot_self()) static_cast<model_worker*>(w)->debt += of_.model.options.price.wake;
        of_.model.go_on(of_, of_.model.options.price.woken);
    }
    return true;
}

// ---- time

void model_engine::pass(model_worker& w, time_ns d) noexcept {
    const time_ns until = now() + d;
    if (events.empty() || events.next_time() > until) {
        clock.store(until, std::memory_order_relaxed);
        return;
    }
    events.push(until, nullptr, &w);
    run_next(*w.current);
}

void model_engine::block(model_worker& w) noexcept { run_next(*w.current); }

void model_engine::go_on(model_worker& w, time_ns after) noexcept { events.push(now() + after, nullptr, &w); }

void model_engine::run_next(fiber& from) noexcept {
    while (!events.empty()) {
        const auto e = events.pop();
        clock.store(e.at, std::memory_order_relaxed);
        note(static_cast<std::uint64_t>(e.at));
        if (e.happen) {
            e.happen(e.to);
            continue;
        }
        auto& next = *static_cast<model_worker*>(e.to);
        note(static_cast<std::uint64_t>(next.id));
        return jump_to(from, &next);
    }
    jump_to(from, nullptr);
}

void model_engine::note(std::uint64_t what) noexcept { history = (history ^ what) * 0x100000001b3u; }

void model_engine::jump_to(fiber& from, model_worker* to) noexcept {
    fiber& target = to ? *to->current : native;
    impl::weft_hot.self = to;
    if (&target == &from) return;
    from.head = impl::weft_hot.head;
    from.exceptions = *exceptions;
    save_context(from, change_stacks(from, target));
    *exceptions = from.exceptions;
    impl::set_hot_head(from.head);
}

// ---- what user code and the runtime cost

void model_engine::user_code_ends(worker& w) noexcept {
    if (w.meters) w.current->running->self_ns_ += now() - w.stretch_began;
}

void model_engine::user_code_begins(worker& w) noexcept {
    pay(static_cast<model_worker&>(w));
    if (w.meters) w.stretch_began = now();
}

void model_engine::charge(worker& w, operation o) noexcept {
    const charges& price = options.price;
    time_ns due = 0;
    switch (o) {
    case operation::fork: due = price.fork; break;
    case operation::spawn: due = price.spawn; break;
    case operation::start: due = price.start; break;
    case operation::suspend: due = price.suspend; break;
    case operation::wait: due = price.wait; break;
    }
    static_cast<model_worker&>(w).debt += due;
}

void model_engine::pay(model_worker& w) noexcept {
    if (const time_ns due = std::exchange(w.debt, 0)) pass(w, scaled(w, static_cast<double>(due)));
}

time_ns model_engine::scaled(const model_worker& w, double ns) const noexcept {
    return static_cast<time_ns>(std::llround(ns / on.speed_of(core_of(w.id))));
}

void model_engine::declare_cost(worker& w, std::uint64_t cycles) noexcept {
    auto& self = static_cast<model_worker&>(w);
    const double mhz = on.class_of(core_of(w.id)).frequency_mhz;
    const double cycle_ns = mhz > 0 ? 1000 / mhz : 1;
    const auto took = static_cast<time_ns>(std::llround(static_cast<double>(cycles) * cycle_ns));
    self.declared += took;
    if (w.meters) w.current->running->self_ns_ += took;
    pass(self, took);
}

// ---- roots and timers

void model_engine::submit(task& t, why reason) {
    t.arrives_as_ = static_cast<std::uint8_t>(reason);
    if (const worker* w = impl::hot_self(); w && &w->eng == this) {
        if (reason == why::root) ++open_roots;
        inbox.push_back(&t);
        watching().announce(all(), w->id);
        return;
    }
    const std::lock_guard lock(arriving);
    arrivals.push_back(&t);
    arrived_or_stopping.notify_one();
}

void model_engine::task_retired(worker& w, const task& t) noexcept {
    const bool is_root = t.level_ == 0 && !t.parent_ && !t.frame_ && t.id_ != 0;
    if (is_root && --open_roots == 0) measured.ended = now() + static_cast<model_worker&>(w).debt;
}

void model_engine::set_timer(timer& t) {
    const auto fire = [](void* what) {
        auto& due = *static_cast<timer*>(what);
        due.fire(due);
    };
    timers[&t] = events.push(std::max(t.at, now()), fire, &t);
}

void model_engine::cancel_timer(timer& t) noexcept {
    const auto at = timers.find(&t);
    if (at == timers.end()) return;
    events.cancel(at->second);
    timers.erase(at);
}

// ---- the thread that runs the model

void model_engine::run_thread() {
    // No worker of the other engine: its signals are not for this thread.
    sigset_t none;
    sigemptyset(&none);
    sigaddset(&none, SIGURG);
    pthread_sigmask(SIG_BLOCK, &none, nullptr);
    exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
#ifdef WEFT_TSAN
    native.tsan_fiber = __tsan_get_current_fiber();
#endif
    impl::weft_hot.limit.store(0, std::memory_order_relaxed);
    for (auto& w : crew) {
        w->hot = &impl::weft_hot;
        w->exceptions = exceptions;
        go_on(*w, 0);
    }
    for (;;) {
        run_next(native); // until nothing is going to happen any more
        std::unique_lock lock(arriving);
        quiet = true;
        became_quiet.notify_all();
        arrived_or_stopping.wait(lock, [&] { return stopping || !arrivals.empty(); });
        if (arrivals.empty()) return;
        quiet = false;
        while (task* t = arrivals.pop_front()) {
            if (static_cast<why>(t->arrives_as_) == why::root && open_roots++ == 0) measured.began = now();
            inbox.push_back(t);
        }
        lock.unlock();
        watching().announce(all(), 0);
    }
}

} // namespace weft::engine
