#include "engine/model/model_engine.hpp"

#include "engine/observe/report_file.hpp"
#include "engine/process/fault_report.hpp"
#include "engine/run/switch.hpp"
#include "engine/team/teams.hpp"
#include "engine/worker/run_follower.hpp"

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
    , sim(options.beside
              ? options.beside
              : std::make_shared<simulation>(
                    machine, simulation_options{options.events, options.seed, options.deadlock_seconds,
                                                options.on_deadlock, options.stuck_seconds}))
    , plan(options.preempt, machine.preemption(), options.workers) {
    const auto count = static_cast<std::size_t>(options.workers);
    for (std::size_t i = 0; i < count; ++i) {
        all_workers.push_back(
            std::make_unique<model_worker>(static_cast<worker_id>(i), *this, count, options.seed));
        // relaxed: one thread runs all workers
        all_workers.back()->arena_now.store(&outermost, std::memory_order_relaxed);
        outermost.add_member(*all_workers.back(), machine);
    }
    attach_policy();
    sim->require_shareable(*this);
    preempts = options.preempt.type;
    if (need.own_misses) {
        misses_from = count_source::model;
        instructions_from = count_source::declared;
    }
    files.begin(options.record, &sim->clock);
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
    most_stacks = fibers.peak();
    impl::listeners.fetch_add(1, std::memory_order_relaxed);
    if (need.locks) impl::lock_watchers.fetch_add(1, std::memory_order_relaxed);
    sim->enter(*this);
    files.workers_began();
}

model_engine::~model_engine() {
    files.leave_exit_list();
    sim->leave(*this);
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
    if (sim->end_thread_at_exit()) files.finish();
}

std::uint32_t model_engine::draw(worker& w, std::uint32_t below) {
    const std::uint64_t r = static_cast<model_worker&>(w).random(); // 31 bits
    return static_cast<std::uint32_t>((r * below) >> 31);
}

// ---- programs

void model_engine::begin_workers() noexcept {
    for (auto& w : all_workers) {
        w->hot = &impl::weft_hot;
        w->exceptions = sim->exceptions;
        w->number = static_cast<int>(sim->workers.size());
        sim->workers.push_back(w.get());
        sim->resume_worker(*w, 0);
    }
}

void model_engine::take_submitted(queue::chain<task>& from) {
    queue::chain<task> of_others;
    while (task* t = from.pop_front()) {
        arena& to = *t->arena_;
        if (&to.engine != this) {
            of_others.push_back(t);
            continue;
        }
        if (static_cast<ready_reason>(t->arrives_as_) == ready_reason::root) {
            if (open_roots++ == 0) at_begin = snapshot();
            if (runs)
                runs->root_begins(*t); // not when it was submitted: what is modelled may have been elsewhere
        }
        to.inbox.push(t);
        if (to.is_team()) announce_in(to, to.all());
        has_submitted = true;
    }
    from = std::move(of_others);
}

void model_engine::announce_submitted() {
    if (std::exchange(has_submitted, false)) announce_in(outermost, outermost.all());
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

bool model_engine::waits_for_ever() const noexcept {
    return open_roots > 0 && alarms.empty() &&
           std::ranges::all_of(all_workers, [](const auto& w) { return w->parker.is_asleep(); });
}

/// The engine stays as it is to the end of the process: nothing runs in it any more.
void model_engine::leave_behind() noexcept {
    files.leave_exit_list();
    impl::listeners.fetch_sub(1, std::memory_order_relaxed);
    if (need.locks) impl::lock_watchers.fetch_sub(1, std::memory_order_relaxed);
}

// ---- reports

bool model_engine::run_continues() {
    if (open_roots == 0) return false;
    if (runs) runs->continues();
    return ++open_roots;
}

void model_engine::root_ended(worker& of) noexcept {
    flush_charges(static_cast<model_worker&>(of), activity::overhead);
    if (runs) runs->root_ended();
    if (--open_roots > 0) return;
    model_report run = snapshot().since(at_begin);
    run.choices = outermost.scheduler->choices();
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
                   .events = sim->steps,
                   .measured = options.measures,
                   .misses_from = name_of(misses_from),
                   .instructions_from = name_of(instructions_from),
                   .invalidations = sim->data.invalidations(),
                   .changes_cores = need.exchanges,
                   .shares_cores = sim->cores.has_value(),
                   .steals_by_distance = steals_by_distance};
    for (auto& w : all_workers) {
        set_activity(*w, w->times.current()); // counts the time that has passed
        r.workers.push_back({.spent = w->times.spent(),
                             .tasks = w->count.tasks.get(),
                             .steals = w->count.steals.get(),
                             .exposures = w->count.exposures.get(),
                             .exchanges = w->count.exchanges.get(),
                             .refused_exchanges = w->count.refused_exchanges.get(),
                             .memory = sim->data.of_worker(w->id)});
    }
    for (int n = 0; n < sim->data.node_count(); ++n)
        r.nodes.push_back({.bytes = sim->data.of_node(n),
                           .bandwidth_gbps = sim->data.capacities()[static_cast<std::size_t>(n)]});
    for (std::size_t d = 0; d < sim->disk_bytes.size(); ++d)
        r.disks.push_back({.name = machine.disks()[d].name,
                           .bytes = sim->disk_bytes[d],
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
