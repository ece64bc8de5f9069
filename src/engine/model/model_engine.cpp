#include "engine/model/model_engine.hpp"

#include "engine/observe/report_file.hpp"
#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/team/teams.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cxxabi.h>
#include <pthread.h>

namespace weft::engine {

namespace {

std::vector<double> with_disks(std::vector<double> capacities, const machine& m) {
    for (const disk& d : m.disks()) capacities.push_back(d.bandwidth_gbps);
    return capacities;
}

} // namespace

model_worker::model_worker(worker_id rank, model_engine& of, std::size_t workers, std::uint64_t seed)
    : worker(rank, of, workers)
    , model(of) {
    std::seed_seq words{seed, static_cast<std::uint64_t>(rank)};
    std::uint32_t own = 0;
    words.generate(&own, &own + 1);
    random.seed(own | 1);
    set_core(rank);
    slow = modelled = observed = true;
}

model_engine::model_engine(std::unique_ptr<policy> p, weft::machine m, model_engine_options o,
                           resource_table resources, policy_factory another)
    : engine({*this, *this, *this, *this, *this, *this},
             {std::move(p), std::move(m), std::move(resources), std::move(another)}, o.workers, o.stack_bytes,
             o.keep_fibers, fiber_entry)
    , options(std::move(o))
    , speed(machine, options.events)
    , plan(options.preempt, machine.preemption(), options.workers)
    , data(machine, options.seed)
    , first_disk(data.capacities().size())
    , bandwidth(with_disks(data.capacities(), machine))
    , disk_bytes(machine.disks().size())
    , links(machine.packages().size() * machine.packages().size()) {
    const auto count = static_cast<std::size_t>(options.workers);
    for (std::size_t i = 0; i < count; ++i) {
        all_workers.push_back(
            std::make_unique<model_worker>(static_cast<worker_id>(i), *this, count, options.seed));
        // relaxed: one thread runs all workers
        all_workers.back()->arena_now.store(&outermost, std::memory_order_relaxed);
        outermost.add_member(*all_workers.back(), machine);
    }
    attach_policy();
    preempts = options.preempt.type;
    if (need.own_misses) {
        misses_from = count_source::model;
        instructions_from = count_source::declared;
    }
    files.begin(options.record, &clock);
    try {
        fibers.reserve(1); // one thread runs all workers
        for (auto& w : all_workers) {
            w->current = fibers.take();
            w->current->become_scheduler();
        }
    } catch (const error&) {
        for (auto& w : all_workers)
            if (w->current) fibers.give(w->current);
        throw;
    }
    impl::listeners.fetch_add(1, std::memory_order_relaxed);
    if (need.locks) impl::lock_watchers.fetch_add(1, std::memory_order_relaxed);
    thread = std::thread([this] { run_thread(); });
    clockid_t thread_clock{};
    if (pthread_getcpuclockid(thread.native_handle(), &thread_clock) == 0)
        watchdog = std::jthread([this, thread_clock](std::stop_token s) { run_watchdog(s, thread_clock); });
    wait_until_quiescent();
    files.workers_began();
}

model_engine::~model_engine() {
    files.leave_exit_list();
    watchdog = {};
    {
        const std::lock_guard lock(submission_mutex);
        stopping = true;
        submitted_or_stopping.notify_all();
    }
    thread.join();
    files.finish();
    for (auto& w : all_workers) discard_messages(*w);
    impl::listeners.fetch_sub(1, std::memory_order_relaxed);
    if (need.locks) impl::lock_watchers.fetch_sub(1, std::memory_order_relaxed);
    for (auto& w : all_workers) {
        fibers.give(w->current);
        while (fiber* f = w->free_fibers) {
            w->free_fibers = f->free_next;
            fibers.give(f);
        }
    }
}

void model_engine::end_threads_at_exit() noexcept {
    {
        const std::lock_guard lock(submission_mutex);
        if (!quiet) return;
        stopping = true;
        submitted_or_stopping.notify_all();
    }
    watchdog = {};
    thread.join();
    files.finish();
}

void model_engine::wait_until_quiescent() {
    std::unique_lock lock(submission_mutex);
    became_quiet.wait(lock, [&] { return quiet; });
}

std::uint32_t model_engine::draw(worker& w, std::uint32_t below) {
    const std::uint64_t r = static_cast<model_worker&>(w).random(); // 31 bits
    return static_cast<std::uint32_t>((r * below) >> 31);
}

// ---- the thread that runs the model

void model_engine::run_thread() {
    signal_stack_memory for_handlers;
    const signal_stack handlers_run_on(for_handlers);
    // This thread is no worker of the other engine: the exposure signal is not for it.
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGURG);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    exceptions = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
    sanitizer::begin_thread(native.sanitized);
    impl::weft_hot.limit.store(0, std::memory_order_relaxed);
    for (auto& w : all_workers) {
        w->hot = &impl::weft_hot;
        w->exceptions = exceptions;
        resume_worker(*w, 0);
    }
    for (;;) {
        run_next_event(native); // returns when no event is left
        fibers.trim();
        std::unique_lock lock(submission_mutex);
        quiet = true;
        became_quiet.notify_all();
        const auto is_needed = [&] { return stopping || !submitted.empty(); };
        if (open_roots == 0)
            submitted_or_stopping.wait(lock, is_needed);
        else if (!submitted_or_stopping.wait_for(
                     lock, std::chrono::duration<double>(options.deadlock_seconds), is_needed)) {
            lock.unlock();
            return report_deadlock();
        }
        if (submitted.empty()) return;
        quiet = false;
        while (task* t = submitted.pop_front()) {
            if (static_cast<ready_reason>(t->arrives_as_) == ready_reason::root && open_roots++ == 0)
                at_begin = snapshot();
            arena& to = *t->arena_;
            to.inbox.push(t);
            if (to.is_team()) announce_in(to, to.all());
        }
        lock.unlock();
        announce_in(outermost, outermost.all());
    }
}

void model_engine::waits(worker& of, const task& t, ready_reason reason) noexcept {
    auto& w = static_cast<model_worker&>(of);
    waiting.add(t, reason, std::exchange(w.waits_for_what, nullptr), w.waits_for_which, now());
}

void model_engine::waits_for(worker& of, const char* what, const void* which) noexcept {
    auto& w = static_cast<model_worker&>(of);
    w.waits_for_what = what;
    w.waits_for_which = which;
}

void model_engine::resumed(worker&, const task& t) noexcept { waiting.remove(t); }

void model_engine::report_deadlock() {
    const std::string report = waiting.to_string() + gate.to_string() + teams_to_string(*this);
    files.finish();
    if (options.on_deadlock) {
        leave_behind();
        return options.on_deadlock(report);
    }
    std::fflush(stdout);
    std::fprintf(stderr,
                 "weft: deadlock at %.6f s of virtual time: no event is left, no other thread has submitted\n"
                 "a task for %g s, and these tasks wait for each other:\n%s",
                 static_cast<double>(now()) * 1e-9, options.deadlock_seconds, report.c_str());
    std::_Exit(EXIT_FAILURE); // their stacks cannot be unwound
}

/// The engine stays as it is to the end of the process: nothing runs in it any more.
void model_engine::leave_behind() noexcept {
    watchdog = {};
    files.leave_exit_list();
    impl::listeners.fetch_sub(1, std::memory_order_relaxed);
    if (need.locks) impl::lock_watchers.fetch_sub(1, std::memory_order_relaxed);
}

void model_engine::report_end_of_time() noexcept {
    std::fflush(stdout);
    std::fprintf(
        stderr,
        "weft: the virtual clock ends after 146 years, and nothing is left to happen before that. The\n"
        "costs and data that the program declares, or the time for which it sleeps, are more than a\n"
        "model can count. Virtual time is %.6f s.\n",
        static_cast<double>(now()) * 1e-9);
    files.finish();
    std::_Exit(EXIT_FAILURE); // no stack can go on
}

void model_engine::run_watchdog(const std::stop_token& stopped, clockid_t thread_clock) {
    // During a stretch of user code virtual time stands still, and so does every other worker. A stretch that
    // never ends, since it waits for another task in a loop of its own, is a hang; only the watchdog, which
    // uses processor time, detects it.
    const auto used = [&] {
        timespec t{};
        clock_gettime(thread_clock, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    };
    std::mutex own_mutex;
    std::condition_variable_any never;
    std::unique_lock lock(own_mutex);
    std::uint64_t last = stretches.load(std::memory_order_relaxed);
    double since = used();
    bool reported = false;
    const auto period = std::chrono::duration<double>(std::min(1.0, options.stuck_seconds / 4));
    while (!never.wait_for(lock, stopped, period, [] { return false; }) && !stopped.stop_requested()) {
        const std::uint64_t now_at = stretches.load(std::memory_order_relaxed);
        if (now_at != last) {
            last = now_at;
            since = used();
            reported = false;
        } else if (!reported && used() - since > options.stuck_seconds) {
            reported = true;
            std::fprintf(
                stderr,
                "weft: one stretch of user code has run for %g s of processor time while virtual time\n"
                "stands still at %.6f s. If it waits in a loop for another task, that task cannot run: use "
                "a\n"
                "mutex, latch, future or this_task::yield() of weft instead. If it computes, it will "
                "continue.\n",
                options.stuck_seconds, static_cast<double>(now()) * 1e-9);
        }
    }
}

// ---- reports

void model_engine::root_ended(worker& of) noexcept {
    flush_charges(static_cast<model_worker&>(of), activity::overhead);
    if (--open_roots > 0) return;
    model_report run = snapshot().since(at_begin);
    if (report_file* const reports = files.reports())
        reports->add([text = reports->wants_json() ? run.to_json() : run.to_table()] { return text; });
    const std::lock_guard lock(reporting);
    last_run = std::move(run);
}

model_report model_engine::snapshot() {
    model_report r{.machine = machine.name(),
                   .policy = files.options().policy_spec,
                   .figures = figures_of(machine),
                   .calibrated_on = machine.parts().calibrated_on,
                   .seed = files.options().seed,
                   .ended = now(),
                   .events = steps,
                   .measured = options.measures,
                   .misses_from = name_of(misses_from),
                   .instructions_from = name_of(instructions_from),
                   .invalidations = data.invalidations(),
                   .changes_cores = need.exchanges,
                   .steals_by_distance = steals_by_distance};
    for (auto& w : all_workers) {
        set_activity(*w, w->times.current()); // counts the time that has passed
        r.workers.push_back({.spent = w->times.spent(),
                             .tasks = w->count.tasks.get(),
                             .steals = w->count.steals.get(),
                             .exposures = w->count.exposures.get(),
                             .exchanges = w->count.exchanges.get(),
                             .refused_exchanges = w->count.refused_exchanges.get(),
                             .memory = data.of_worker(w->id)});
    }
    for (int n = 0; n < data.node_count(); ++n)
        r.nodes.push_back(
            {.bytes = data.of_node(n), .bandwidth_gbps = data.capacities()[static_cast<std::size_t>(n)]});
    for (std::size_t d = 0; d < disk_bytes.size(); ++d)
        r.disks.push_back({.name = machine.disks()[d].name,
                           .bytes = disk_bytes[d],
                           .bandwidth_gbps = machine.disks()[d].bandwidth_gbps});
    return r;
}

std::optional<measured_run> model_engine::last_measured_run() const {
    const std::lock_guard lock(reporting);
    if (!last_run) return std::nullopt;
    return measured_run{last_run->began, last_run->ended, last_run->user_time()};
}

std::string model_engine::describe_run(const tally&, bool as_json) const {
    const std::lock_guard lock(reporting);
    if (!last_run) return "";
    return as_json ? last_run->to_json() : last_run->to_table();
}

} // namespace weft::engine
