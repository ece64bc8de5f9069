#include "engine/model/simulation.hpp"

#include "engine/model/model_engine.hpp"
#include "engine/model/program_placer.hpp"
#include "engine/model/virtual_clock.hpp"
#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/team/teams.hpp"

#include <weft/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include <cxxabi.h>
#include <pthread.h>

namespace weft::engine {

namespace {

/// The simulation that runs on this thread, or null.
constinit thread_local const simulation* simulation_here = nullptr;

std::vector<double> with_disks(std::vector<double> capacities, const machine& m) {
    for (const disk& d : m.disks()) capacities.push_back(d.bandwidth_gbps);
    return capacities;
}

} // namespace

simulation::simulation(const weft::machine& m, simulation_options o)
    : machine(m)
    , options(std::move(o))
    , speed(machine, options.changes)
    , data(machine, options.seed)
    , first_disk(data.capacities().size())
    , bandwidth(with_disks(data.capacities(), machine))
    , disk_bytes(machine.disks().size())
    , links(machine.packages().size() * machine.packages().size()) {
    thread = std::thread([this] { run_thread(); });
    clockid_t thread_clock{};
    if (pthread_getcpuclockid(thread.native_handle(), &thread_clock) == 0)
        watchdog = std::jthread([this, thread_clock](std::stop_token s) { run_watchdog(s, thread_clock); });
}

simulation::~simulation() {
    watchdog = {};
    {
        const std::lock_guard lock(submission_mutex);
        stopping = true;
        submitted_or_stopping.notify_all();
    }
    if (thread.joinable()) thread.join();
}

// ---- engines

void simulation::require_shareable(const model_engine& e) {
    when_quiet([&] {
        for (const model_engine* const each : engines)
            if (e.need.exchanges || each->need.exchanges)
                throw error("workers of several programs share their cores, and cannot exchange them",
                            fmt::format("the policies {} and {}", each->options.record.policy_spec,
                                        e.options.record.policy_spec),
                            "policies without exchanges, for each of the programs");
    });
}

void simulation::enter(model_engine& e) {
    {
        std::unique_lock lock(submission_mutex);
        became_quiet.wait(lock, [&] { return quiet; });
        entering = &e;
        quiet = false;
        submitted_or_stopping.notify_all();
    }
    wait_until_quiet();
}

void simulation::leave(model_engine& e) {
    when_quiet([&] { std::erase(engines, &e); });
}

bool simulation::end_thread_at_exit() noexcept {
    {
        const std::lock_guard lock(submission_mutex);
        if (!quiet) return false;
        stopping = true;
        submitted_or_stopping.notify_all();
    }
    watchdog = {};
    if (thread.joinable()) thread.join();
    return true;
}

void simulation::wait_until_quiet() {
    when_quiet([] {});
}

void simulation::submit(task& t) {
    const std::lock_guard lock(submission_mutex);
    submitted.push_back(&t);
    submitted_or_stopping.notify_all();
}

bool simulation::runs_here() const noexcept { return simulation_here == this; }

// ---- time, events and workers

void simulation::set_clock(time_ns to) noexcept {
    if (to >= end_of_time) report_end_of_time();
    clock.store(to, std::memory_order_relaxed);
}

void simulation::advance(model_worker& w, time_ns d) noexcept {
    if ((!cores || cores->has_alone(w)) && passes_alone(now() + d)) return;
    if (cores) return cores->use(w, d);
    const auto resumes = resume_worker(w, d);
    if (w.works) w.work_ends = resumes;
    suspend_worker(w);
    w.work_ends.reset();
}

bool simulation::passes_alone(time_ns until) noexcept {
    if (!events.empty() && events.next_time() <= until) return false;
    ++steps;
    hash_event(static_cast<std::uint64_t>(until));
    set_clock(until);
    return true;
}

void simulation::suspend_worker(model_worker& w) noexcept { run_next_event(*w.current); }

void simulation::sleep_worker(model_worker& w) noexcept {
    if (cores) cores->leave(w);
    suspend_worker(w);
}

event_queue::number simulation::resume_worker(model_worker& w, time_ns after) noexcept {
    return events.push(now() + after, nullptr, &w);
}

void simulation::run_next_event(fiber& from) noexcept {
    while (!events.empty()) {
        const auto e = events.pop();
        ++steps;
        set_clock(e.at);
        hash_event(static_cast<std::uint64_t>(e.at));
        if (e.happen) {
            impl::weft_hot.self = nullptr; // the event belongs to no worker
            e.happen(e.to);
            continue;
        }
        auto& next = *static_cast<model_worker*>(e.to);
        hash_event(static_cast<std::uint64_t>(next.number));
        if (cores && !cores->may_run(next)) continue;
        if (next.found) { // most events are those of workers that look for work, and leaving a stack takes longer than a look
            impl::weft_hot.self = &next;
            if (next.model.looks_on(next)) continue;
        }
        return switch_worker(from, &next);
    }
    switch_worker(from, nullptr);
}

void simulation::switch_worker(fiber& from, model_worker* to) noexcept {
    fiber& target = to ? *to->current : native;
    impl::weft_hot.self = to;
    if (&target == &from) return;
    from.head = impl::weft_hot.head;
    save_exceptions(from, *exceptions);
    from.modes.update();
    save_context(from, change_stacks(from, target));
    restore_exceptions(from, *exceptions);
    impl::set_hot_head(from.head);
}

// ---- data in transfer

void simulation::await_transfer(model_worker& w, double least_ns, double bytes,
                                std::span<const shared_bandwidth::use> of) {
    update_capacities();
    bandwidth.begin(w.number, now(), least_ns, bytes, of);
    schedule_transfer_end();
    suspend_worker(w); // until end_transfers()
}

void simulation::await_disk(model_worker& w, double least_ns, double bytes,
                            std::span<const shared_bandwidth::use> of) {
    const time_ns began = now();
    update_capacities();
    bandwidth.begin(w.number, began, least_ns, bytes, of);
    schedule_transfer_end();
    sleep_worker(w); // until end_transfers()
    w.blocked_ns += now() - began;
}

void simulation::schedule_transfer_end() {
    if (next_transfer_end) events.cancel(*next_transfer_end);
    next_transfer_end.reset();
    if (bandwidth.empty()) return;
    const time_ns at = std::min(bandwidth.next_end(), capacities_valid_until);
    next_transfer_end =
        events.push(std::max(now(), at), [](void* s) { static_cast<simulation*>(s)->end_transfers(); }, this);
}

void simulation::end_transfers() {
    next_transfer_end.reset();
    bandwidth.advance(now(), [&](int owner) { resume_worker(*workers[static_cast<std::size_t>(owner)], 0); });
    update_capacities();
    schedule_transfer_end();
}

void simulation::update_capacities() {
    if (now() < capacities_valid_until) return;
    time_ns next = scenario::for_ever;
    const std::vector<double> whole = data.capacities();
    for (int node = 0; node < data.node_count(); ++node) {
        double taken = 0;
        for (const auto& c : options.changes.nodes) {
            if (c.memory_node != node) continue;
            if (c.from <= now() && now() < c.until) taken += c.gbps;
            for (const time_ns change : {c.from, c.until})
                if (change > now()) next = std::min(next, change);
        }
        bandwidth.set_capacity(node, std::max(0.0, whole[static_cast<std::size_t>(node)] - taken), now());
    }
    capacities_valid_until = next;
}

// ---- the thread

void simulation::run_thread() {
    simulation_here = this;
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
    for (;;) {
        run_next_event(native); // returns when no event is left
        for (model_engine* const e : engines) e->fibers.trim();
        std::unique_lock lock(submission_mutex);
        quiet = true;
        became_quiet.notify_all();
        const auto is_needed = [&] {
            return stopping || entering || (submitted.size() >= awaited_submissions && !submitted.empty());
        };
        if (!has_open_roots())
            submitted_or_stopping.wait(lock, is_needed);
        else if (!submitted_or_stopping.wait_for(
                     lock, std::chrono::duration<double>(options.deadlock_seconds), is_needed)) {
            lock.unlock();
            return report_deadlock();
        }
        if (submitted.empty() && !entering) return;
        quiet = false;
        if (model_engine* const e = std::exchange(entering, nullptr)) {
            engines.push_back(e);
            if (engines.size() == 2) cores.emplace(*this);
            e->begin_workers();
            continue;
        }
        awaited_submissions = 1;
        for (model_engine* const e : engines) e->take_submitted(submitted);
        lock.unlock();
        for (model_engine* const e : engines) e->announce_submitted();
        if (placer) placer->roots_came();
    }
}

bool simulation::has_open_roots() const noexcept {
    return std::ranges::any_of(engines, [](const model_engine* e) { return e->open_roots > 0; });
}

void simulation::report_deadlock() {
    std::string report;
    for (model_engine* const e : engines) {
        report += e->waiting.to_string() + e->gate.to_string() + teams_to_string(*e);
        e->files.finish();
    }
    if (options.on_deadlock) {
        watchdog = {};
        for (model_engine* const e : engines) e->leave_behind();
        return options.on_deadlock(report);
    }
    std::fflush(stdout);
    std::fprintf(stderr,
                 "weft: deadlock at %.6f s of virtual time: no event is left, no other thread has submitted\n"
                 "a task for %g s, and these tasks wait for each other:\n%s",
                 static_cast<double>(now()) * 1e-9, options.deadlock_seconds, report.c_str());
    std::_Exit(EXIT_FAILURE); // their stacks cannot be unwound
}

void simulation::report_end_of_time() noexcept {
    std::fflush(stdout);
    std::fprintf(
        stderr,
        "weft: the virtual clock ends after 146 years, and nothing is left to happen before that. The\n"
        "costs and data that the program declares, or the time for which it sleeps, are more than a\n"
        "model can count. Virtual time is %.6f s.\n",
        static_cast<double>(now()) * 1e-9);
    for (model_engine* const e : engines) e->files.finish();
    std::_Exit(EXIT_FAILURE); // no stack can go on
}

void simulation::run_watchdog(const std::stop_token& stopped, clockid_t thread_clock) {
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

} // namespace weft::engine
