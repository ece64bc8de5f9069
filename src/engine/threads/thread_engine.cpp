#include "engine/threads/thread_engine.hpp"

#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/threads/preemption/tick_handler.hpp"
#include "engine/threads/reached.hpp"
#include "engine/threads/report.hpp"
#include "engine/threads/run_account.hpp"
#include "engine/threads/shared_slot.hpp"
#include "engine/worker/offer.hpp"
#include "engine/worker/run_follower.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace weft::engine {

namespace {

void give_back_fibers(thread_worker& w) noexcept {
    while (fiber* f = w.free_fibers) {
        w.free_fibers = f->free_next;
        w.engine.fibers.give(f);
    }
}

} // namespace

thread_engine::thread_engine(std::unique_ptr<policy> p, weft::machine m, const thread_engine_options& o,
                             resource_table resources, policy_factory another)
    : engine({*this, usage_meter, *this, alarms, *this, *this},
             {std::move(p), std::move(m), std::move(resources), std::move(another)}, o.workers, o.stack_bytes,
             o.keep_fibers, fiber_entry)
    , options(o)
    , homes(o.workers - static_cast<int>(o.lend.reach.size()))
    , oversubscribed(o.workers > o.cores)
    , all_ready(o.workers + 1)
    , all_ended(o.workers) {
    most_waiting = o.most_waiting;
    const auto count = static_cast<std::size_t>(o.workers);
    for (std::size_t i = 0; i < count; ++i) {
        std::seed_seq seed{o.seed, static_cast<std::uint64_t>(i)};
        std::uint32_t own = 0;
        seed.generate(&own, &own + 1);
        all_workers.push_back(
            std::make_unique<thread_worker>(static_cast<worker_id>(i), *this, count, own | 1));
        all_workers.back()->set_core(static_cast<int>(i) % machine.size());
        // relaxed: its thread does not exist yet
        all_workers.back()->arena_now.store(&outermost, std::memory_order_relaxed);
        outermost.add_member(*all_workers.back(), machine);
    }
    attach_policy();
    if (need.locks)
        throw error("a policy that is told of locks runs on modelled machines only, since on real threads no "
                    "lock tells a policy",
                    "policy '" + options.record.policy_spec + "' with WEFT_ENGINE=threads",
                    "WEFT_ENGINE=model with it, or another policy");
    if (need.tick > 0)
        ticks_of_policy.emplace(
            *this, need.tick, [](void* of, time_ns at) { static_cast<policy*>(of)->tick(at); },
            outermost.scheduler, "the policy's ticks");
    if (!options.speeds.empty()) pace.emplace(*this, options.speeds);
    if (need.own_misses) {
        const auto [misses, instructions] = miss_counter::available_here();
        meter.misses_from = misses ? count_source::counters : count_source::declared;
        meter.instructions_from = instructions ? count_source::counters : count_source::unknown;
    }
    if (options.pin && options.pin_without_work && !need.exchanges &&
        options.preempt.type == preemption::off && options.speeds.empty() && options.lend.directory.empty() &&
        options.share.empty())
        away_from_home = own_mask();
    chosen_active = homes;
    if (!options.lend.directory.empty()) begin_lending();
    std::optional<share::slot_writer> slot;
    if (!options.share.empty()) slot = share::slot_writer::claim(options.share);
    for (auto& w : all_workers) w->counts_declared = slot.has_value();
    if (meter.misses_from == count_source::declared || slot) listens.emplace();
    // The counters are those of the workers' own threads, and so are emulated cores. Workers that are to stay awake make no room for callers.
    lends_places = options.lend_places && !pace && !lends && options.spin_time < std::chrono::hours(1) &&
                   meter.misses_from != count_source::counters;
    if (!machine.is_modelled())
        for (const auto& w : all_workers) {
            const auto cpu = static_cast<std::size_t>(machine.core_at(w->core()).os_index);
            if (cpu >= worker_of_cpu.size()) worker_of_cpu.resize(cpu + 1, 0);
            worker_of_cpu[cpu] = w->id;
        }
    files.begin(options.record);
    if (files.reports()) account = std::make_unique<run_account>(*this);
    for (auto& w : all_workers) w->observed = w->times_tasks || meter.misses_from == count_source::counters;

    // The first fiber of each worker: taken here, where a failure can still be reported.
    try {
        fibers.reserve(count);
        for (auto& w : all_workers) free_fiber(*w, *fibers.take());
    } catch (const error&) {
        for (auto& w : all_workers) give_back_fibers(*w);
        throw;
    }

    // Every worker's words must exist before another worker may ask it.
    struct argument {
        thread_engine* of;
        thread_worker* worker;
    };
    std::vector<argument> arguments;
    arguments.reserve(count);
    std::size_t started = 0;
    int failure = 0;
    for (auto& w : all_workers) {
        arguments.push_back({this, w.get()});
        failure = pthread_create(
            &w->thread, nullptr,
            [](void* a) -> void* {
                auto [of, worker] = *static_cast<argument*>(a);
                worker->hot = worker->own.hot = &impl::weft_hot;
                worker->hot->in_runtime.store(true, std::memory_order_relaxed);
                worker->hot->self = worker;
                worker->own.thread = pthread_self();
                worker->own.id = static_cast<pid_t>(syscall(SYS_gettid));
                worker->own.worker = worker;
                // Before the constructor ends: a mask that the program sets after that stays.
                of->occupies(*worker, worker->own);
                if (of->account) of->account->thread_begins(*worker);
                if (of->pace) of->pace->thread_comes(*worker);
                {
                    // It is asleep until all threads have come, and not at work.
                    const time_ns came = of->now();
                    worker->count.idle.begin(came);
                    worker->count.asleep.begin(came);
                    const own_sleep until_all_are_ready(worker->usage);
                    of->all_ready.arrive_and_wait();
                }
                const time_ns begins = of->now();
                worker->count.asleep.end(begins);
                worker->count.idle.end(begins);
                if (!of->incomplete) of->run_thread(*worker);
                impl::weft_hot.self = nullptr;
                const bool at_once = of->ending_at_exit;
                // release: pairs with the load in end_threads_at_exit()
                of->threads_ended.fetch_add(1, std::memory_order_release);
                // The destructors of the program's thread-local objects do not run: what they use may be
                // destroyed.
                if (at_once) syscall(SYS_exit, 0);
                return nullptr;
            },
            &arguments.back());
        if (failure) break;
        ++started;
    }
    if (failure) {
        incomplete = true;
        all_ready.count_down(static_cast<std::ptrdiff_t>(count - started));
        all_ready.arrive_and_wait();
        for (std::size_t i = 0; i < started; ++i) pthread_join(all_workers[i]->thread, nullptr);
        for (auto& w : all_workers) give_back_fibers(*w);
        throw error(fmt::format("cannot create the thread of a worker ({})", std::strerror(failure)),
                    fmt::format("{} workers, {} created", o.workers, started),
                    "fewer workers (WEFT_WORKERS), or a larger limit of threads or memory for this process");
    }
    all_ready.arrive_and_wait();
    if (pace) pace->begin();
    preempts = options.preempt.type;
    if (preempts != preemption::off) try {
            preemption.begin();
        } catch (...) {
            if (pace) pace->stop();
            stop();
            for (auto& w : all_workers) pthread_join(w->thread, nullptr);
            preemption.join_spares();
            for (auto& w : all_workers) ticks::delete_timer(w->own);
            throw;
        }
    if (lends) lends->begin();
    if (options.follow_cores && need.resizable && homes > 1) cores_follower.emplace(*this);
    if (slot) shared = std::make_unique<shared_slot>(*this, std::move(*slot));
    files.workers_began();
}

thread_engine::~thread_engine() {
    files.leave_exit_list();
    shared.reset();
    cores_follower.reset();
    if (lends) lends->stop();
    if (pace) pace->stop();
    if (ticks_of_policy) ticks_of_policy->stop(); // workers may still wake it
    if (account) account->threads_end();
    stop();
    for (auto& w : all_workers) pthread_join(w->thread, nullptr);
    preemption.join_spares();
    for (auto& w : all_workers) ticks::delete_timer(w->own);
    for (auto& w : all_workers) discard_messages(*w);
    files.finish();
    while (submitting.load(std::memory_order_acquire) > 0) // pairs with the end of submit()
        queue::std_sync::yield();
}

void thread_engine::stop() noexcept {
    stopping.store(true, std::memory_order_seq_cst);   // before the sleepers are woken, as in announce()
    queue::std_sync::fence(std::memory_order_seq_cst); // pairs with arm(), as in set_active()
    for (auto& w : all_workers) w->parker.wake();
    preemption.end_spares();
}

void thread_engine::end_threads_at_exit() noexcept {
    if (const worker* self = impl::hot_self(); self && &self->engine == this) return;
    shared.reset();
    cores_follower.reset();
    if (lends) lends->stop();
    if (pace) pace->stop();
    if (ticks_of_policy) ticks_of_policy->stop();
    if (account) account->threads_end();
    ending_at_exit = true;
    stop();
    alarms.stop();
    constexpr std::chrono::milliseconds time_to_end{100};
    const auto until = std::chrono::steady_clock::now() + time_to_end;
    while (threads_ended.load(std::memory_order_acquire) <
           worker_count()) { // pairs with the end of the threads
        if (std::chrono::steady_clock::now() > until) return;
        queue::std_sync::yield();
    }
    for (const auto& w : all_workers)
        if (sanitizer::has_tsan()) // its pthread_join() waits for what a thread does that ends by itself
            while (syscall(SYS_tgkill, getpid(), w->own.id, 0) == 0) queue::std_sync::yield();
        else
            pthread_join(w->thread, nullptr);
    files.finish();
}

void thread_engine::root_begins(task& root) {
    if (account) account->root_begins();
    if (runs) runs->root_begins(root);
}

// Both count the same roots, one after the other, so in an open run both have one.
bool thread_engine::run_continues() {
    const bool is_counted = account && account->run_continues();
    return (runs && runs->continues()) || is_counted;
}

void thread_engine::root_ended(worker& w) noexcept {
    if (runs) runs->root_ended();
    if (!account) return;
    if (pace) pace->charge(static_cast<thread_worker&>(w));
    account->root_ended();
}

thread_report thread_engine::report_of(const tally& run) const {
    return {.machine = machine.name(),
            .policy = files.options().policy_spec,
            .seed = files.options().seed,
            .callers_work = lends_places.load(std::memory_order_relaxed),
            .misses_from = name_of(meter.misses_from),
            .instructions_from = name_of(meter.instructions_from),
            .changes_cores = need.exchanges,
            .preempts = preempts != preemption::off || preemption.has_begun(),
            .speeds = pace ? pace->asked_speeds() : std::vector<double>{},
            .scale = pace ? pace->scale() : 1,
            .run = run};
}

std::string thread_engine::describe_run(const tally& run, bool as_json) const {
    if (run.workers.empty()) return ""; // no run has ended
    const thread_report r = report_of(run);
    return as_json ? r.to_json() : r.to_table();
}

std::string thread_engine::describe_all_runs(bool as_json) {
    return account ? account->describe(as_json) : std::string();
}

void thread_engine::run_thread(thread_worker& w) {
    w.exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
    if (meter.misses_from == count_source::counters) w.counter.emplace();
    serve(w.own);
    occupancy_of::wait_until_unreached(all_workers); // as serve_as_spare() does
}

void thread_engine::serve(kernel_thread& self) {
    const signal_stack handlers_run_on(self.signals);
    allow_exposure_signal();
    allow_tick();
    if (pace) pacer::allow_signal();
    sanitizer::begin_thread(self.own_stack.sanitized);
    for (;;) {
        thread_worker& w = *self.worker;
        w.current = &self.own_stack;
        fiber& first = take_fiber(w); // there is one: the worker's first, or that which a handler has seen
        first.become_scheduler();
        task* const preempted = std::exchange(self.preempted, nullptr);
        switch_to(w, first, preempted ? switch_action{offer_stopped, preempted, nullptr} : switch_action{});
        // The thread is on its own stack again, and may run another worker.
        auto& here = static_cast<thread_worker&>(*impl::hot_self());
        task* const to_resume = std::exchange(here.to_resume, nullptr);
        if (!to_resume) { // the engine stops
            give_back_fibers(here);
            all_ended.arrive_and_wait();
            impl::weft_hot.self = nullptr;
            return;
        }
        if (!preemption.change_threads(here, self, *to_resume)) return;
    }
}

time_ns thread_engine::now() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

bool thread_engine::is_own_thread(const kernel_thread& t) const noexcept {
    return std::ranges::any_of(all_workers, [&](const auto& w) { return &w->own == &t; });
}

void thread_engine::preemptible_runs(worker& w, const task& t) noexcept {
    preemption.runs(static_cast<thread_worker&>(w), t);
}

fiber& thread_engine::leave_for_thread_of(worker& of, task& t) noexcept {
    auto& w = static_cast<thread_worker&>(of);
    w.to_resume = &t;
    return *w.native;
}

void thread_engine::preemptible_is_made() noexcept {
    if (preemption.has_begun()) [[likely]]
        return;
    try {
        preemption.begin();
    } catch (const error& e) {
        // Without preemption a program that counts on it would wait for ever.
        std::fprintf(stderr, "weft: %s\n", e.what());
        std::exit(2);
    }
}

std::uint32_t thread_engine::draw(worker& w, std::uint32_t below) {
    const std::uint64_t r = static_cast<thread_worker&>(w).random(); // 31 bits
    return static_cast<std::uint32_t>((r * below) >> 31);
}

} // namespace weft::engine
