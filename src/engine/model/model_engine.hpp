#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/model_worker.hpp"
#include "engine/model/report.hpp"
#include "engine/model/scenario.hpp"
#include "engine/model/shared_bandwidth.hpp"
#include "engine/model/simulation.hpp"
#include "engine/model/tick_plan.hpp"
#include "engine/model/wait_register.hpp"
#include "engine/observe/recording.hpp"
#include "engine/ports/host.hpp"
#include "engine/ports/lifetime.hpp"
#include "engine/ports/meter.hpp"
#include "engine/ports/observation.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/ports/timers.hpp"
#include "engine/process/process.hpp"
#include "engine/worker/engine.hpp"
#include "engine/worker/preemption_options.hpp"
#include "queue/chain.hpp"

#include <weft/impl/deadlock_scope.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::engine {

struct model_engine_options {
    int workers = 1; ///< at most as many as the machine has cores
    std::uint64_t seed = 1;
    std::size_t stack_bytes = std::size_t{8} << 20;
    std::size_t keep_fibers = 256;
    std::size_t most_waiting = default_most_waiting;
    time_ns spin_time = 100'000; ///< from the first look that finds nothing to sleep
    bool measures = false; ///< user code that declares no cost takes the time that it takes on this computer
    scenario events{};
    preemption_options preempt{};
    record_options record{};
    double deadlock_seconds = 2; ///< of real time in which no other thread submits a task
    impl::deadlock_scope::handler on_deadlock = impl::deadlock_scope::current(); ///< empty: the process ends
    double stuck_seconds = 30; ///< of processor time in one stretch of user code, until it is reported
    /// The machine that other engines are on, as programs beside this one. Then `events`, `seed`'s placement of data and the
    /// three members before are those of the first engine. Null: a machine for this engine alone.
    std::shared_ptr<simulation> beside{};
};

/// A spin time that never passes: workers do not sleep.
inline constexpr time_ns spin_forever = time_ns{1} << 61;

/// An engine whose workers are virtual, in virtual time: README.md beside this file. All members belong to
/// the model's thread, except where said.
struct model_engine final : host, engine, meter, team_host, timers, observation, lifetime {
    /// Throws weft::error for a machine that does not say how fast its cores are, and for files that cannot
    /// be written.
    model_engine(std::unique_ptr<policy>, weft::machine, model_engine_options, resource_table = {},
                 policy_factory another = {});
    ~model_engine() override; ///< requires: every root has ended

    // ---- ports
    // host
    fiber& leave_for_thread_of(worker&, task& t) noexcept override { return *t.fiber_; } // never called
    void preemptible_runs(worker&, const task&) noexcept override;
    void schedule() override;
    bool exchange_cores(worker&, worker&) noexcept override;
    void announce(worker&, const placement&) override;
    void answer(worker&, bool by_signal) noexcept override;
    void call_attention(worker&) noexcept override {} // virtual workers enter the runtime at every fork
    void deliver(worker& sender, message&) override;
    bool reclaim(worker&, impl::frame&) noexcept override;
    time_ns now() const noexcept override { return sim->now(); }
    void submit(task&, ready_reason) override;
    void wait_outside(thread_waiter&, task* root) override;
    std::uint32_t draw(worker&, std::uint32_t below) override;
    void lock_changes(worker&, const void* lock, impl::lock_event) noexcept override;

    // timers
    void set_timer(timer&) override;
    void cancel_timer(timer&) noexcept override;

    // meter
    void user_code_ends(worker&) noexcept override;
    void user_code_begins(worker&) noexcept override;
    void charge(worker&, operation) noexcept override;
    void waits(worker&, const task&, ready_reason) noexcept override;
    void waits_for(worker&, const char* what, const void* which) noexcept override;
    void resumed(worker&, const task&) noexcept override;
    void declare_cost(worker&, std::uint64_t cycles, work) noexcept override;
    void declare_transfer(worker&, std::size_t disk, std::size_t bytes) noexcept override;
    void declare_data(worker&, const void*, std::size_t, access) noexcept override;
    void declare_home(const void*, std::size_t, std::optional<int> node) override;
    int home_of(const void* first, std::size_t) const override { return sim->data.home_of(first); }

    // lifetime
    bool belongs_to_this_process() const noexcept override { return member.belongs_to_this_process(); }
    void end_threads_at_exit() noexcept override;
    void wait_until_quiescent() override { sim->wait_until_quiet(); }

    // observation
    bool run_continues() override;
    void root_ended(worker&) noexcept override;
    std::optional<measured_run> last_measured_run() const override;
    std::string describe_run(const tally&, bool as_json) const override;

    // team_host
    static arena_sleep_protocol<model_worker> sleep_protocol_of(arena& a) noexcept {
        return arena_sleep_protocol<model_worker>(a);
    }
    void wake_in(arena& a, workers range) override { wake_parked<model_worker>(a, range); }
    void wake_for_team(arena& a, const std::vector<int>& by_cell) override {
        wake_cells<model_worker>(a, by_cell);
    }
    void announce_in(arena& a, workers range) override { announce_in(a, range, 0); }
    void announce_in(arena&, workers range, worker_id near);
    void wake_inactive(arena& a, rank_range ranks) noexcept override {
        wake_inactive_in<model_worker>(a, ranks);
    }
    /// From a task of this engine at once; from another thread when nothing else is going to happen.
    void set_active(int count) override;
    void leave_search(worker& w) noexcept override { sleep_protocol_of(w.arena())->leave(w.local); }
    void await_team(worker&) override;
    void call(worker&) noexcept override;

    // ---- the time that passes: virtual_time.cpp
    /// From now on the worker's time counts as that activity.
    void set_activity(model_worker&, activity) noexcept;
    /// The running worker spends so many nanoseconds on that activity. Fractions add up.
    void spend_time(model_worker&, double ns, activity) noexcept;
    /// Of `ns` and what is left over from before; a fraction of a nanosecond is left over for the next time.
    time_ns whole_part_of(model_worker&, double ns) noexcept;
    /// The same for charges, on the worker's core.
    time_ns time_of(model_worker&, double charges) noexcept;
    /// The same for work that takes so many nanoseconds on a core of speed 1.
    void do_work(model_worker&, double ns, work_kind, activity) noexcept;
    void flush_charges(model_worker&, activity) noexcept; ///< spends the worker's pending charges
    /// Work until `until` at the latest, on the cores that the worker has meanwhile. Returns the work that is left;
    /// nothing if all is done. `spent` grows by the time that the work took.
    std::optional<double> work_until(model_worker&, double ns, work_kind, activity, time_ns until,
                                     time_ns& spent) noexcept;
    /// The running task of the worker computes. It may be preempted meanwhile: returns the worker that it ends on.
    model_worker& compute(model_worker&, double ns, work_kind) noexcept;

    // ---- ticks: ticks.cpp
    /// The next tick of the worker, which may be past; the end of time if its task is never preempted.
    time_ns next_tick(const model_worker&) const noexcept;
    /// The worker gets a tick. Returns the worker that its task continues on.
    model_worker& handle_tick(model_worker&) noexcept;
    bool may_preempt(model_worker&) const noexcept;
    model_worker& preempt(model_worker&) noexcept;
    void begin_ticking(); ///< of the policy, if it wants that and a worker works
    void tick_policy();

    // ---- data in transfer: virtual_time.cpp
    void await_data(model_worker&) noexcept; ///< that the worker's user code has touched
    /// The worker has another core than when its task declared the data that it works on: they come there.
    void bring_along(model_worker&) noexcept;
    /// As simulation::await_transfer(); the worker waits for shared caches and memory.
    void await_transfer(model_worker&, double least_ns, double bytes, std::span<const shared_bandwidth::use>);

    // ---- the steps of worker_search: search.cpp
    using worker_type = model_worker;
    struct spin_budget;
    spin_budget spin_budget_of(model_worker&) noexcept;
    void before_first_look(model_worker&) noexcept;
    void keeps_working(model_worker&) noexcept;
    void stops_working(model_worker&) noexcept;
    void starts_working(model_worker&) noexcept;
    static bool is_notified(const model_worker& w) noexcept { return w.notified; }
    static void before_look(model_worker& w) noexcept { w.notified = false; }
    void after_look(model_worker&, decision&, bool first);
    void charge_look(model_worker&, const decision&);
    /// Nanoseconds that the worker takes to put a task into a shared place of its arena, or to take one out. It waits
    /// for the lock. So many cache lines come from the core that changed the place last: that of the lock, and of a task
    /// that it takes out the task's.
    double change_shared(const model_worker&, place_id, int lines);
    /// The time of a look has passed, and the worker's stack is left in after_look(). If there is nothing else to do than
    /// to look again, it does so here, on the stack of whichever worker ran last, as often as that takes no event of
    /// another: true if the worker waits for its next event. False if it has to go on on its own stack.
    bool looks_on(model_worker&);
    bool looks_at_call(model_worker&);
    static task* bound_task(const model_worker& w) { return bound_task_of(w); }
    void wait_inactive(model_worker&);
    bool may_ask(const model_worker& victim) const noexcept { return victim.working; }
    impl::frame* ask(model_worker&, model_worker& victim);
    void begin_standing_asks(model_worker&) noexcept {}
    bool place_standing_ask(model_worker&, model_worker& victim);
    bool is_interrupted(const model_worker&) const noexcept;
    void found_in_last_look(model_worker&, const decision&);
    bool must_look_again(const model_worker&) const noexcept { return false; }
    task* sleep(model_worker& w) {
        w.parker.sleep();
        return nullptr;
    }
    impl::frame* take_answer(model_worker& w) noexcept { return std::exchange(w.answer, nullptr); }
    void count_answer(model_worker&, const task&);
    void end_worker(model_worker&) noexcept {} ///< never called: workers end with the model's thread
    bool is_stopping(const model_worker&) const noexcept { return false; }

    // ---- asking, steals, latencies: search.cpp
    void wait_for_answer(model_worker&, model_worker& victim);
    void end_wait_for_answer(model_worker& asker);
    void refuse_askers(model_worker& victim);
    bool expose_to(worker& victim, model_worker& thief) noexcept;
    void expose_to_askers(worker& victim) noexcept;
    void count_steal(model_worker&, const worker& from, const task*);
    /// Nanoseconds there and back between the cores of two workers.
    double latency(const worker& from, const worker& to) const noexcept;
    /// Nanoseconds that a task and its data take on a link, besides the latency.
    double transfer_time(const worker& from, const worker& to, const task*) const noexcept;
    bool never_sleeps() const noexcept { return options.spin_time >= spin_forever; }

    // ---- what the simulation asks for, and reports: model_engine.cpp
    void begin_workers() noexcept;
    void
    resize(int active); ///< as set_active(), on the simulation's thread or when nothing is left to happen
    /// Tasks of it wait, all its workers sleep, and no timer is set: only another program could change that.
    bool waits_for_ever() const noexcept;
    void take_submitted(queue::chain<task>& from); ///< those of this engine
    void announce_submitted();
    model_report snapshot();
    void leave_behind() noexcept;

    struct shared_place {
        int changed_on = -1; ///< the core; -1: none yet
        time_ns free_at = 0; ///< its lock
    };

    struct alarm {
        model_engine* engine;
        timer* of;
        event_queue::number event;
    };

    const model_engine_options options;
    recording files{*this};
    const std::shared_ptr<simulation> sim; ///< this engine's alone, or that of several
    const tick_plan plan;
    std::vector<std::unique_ptr<model_worker>> all_workers;
    std::map<timer*, alarm> alarms; ///< never iterated: the order of addresses differs between runs
    bool policy_ticks = false;      ///< the next call of policy::tick() is among the events

    // ---- workers and tasks
    int working_count = 0; ///< workers that run tasks
    int open_roots = 0;
    /// By the arena's number and the policy's number of the place, which may be any.
    std::map<std::pair<unsigned, place_id>, shared_place> shared_places;
    std::size_t most_stacks = 0;  ///< in use at once so far; the next one is new
    time_ns stacks_mapped_at = 0; ///< so far: a system maps for one thread of a process at a time
    bool has_submitted = false;   ///< tasks of other threads, not announced yet
    wait_register waiting;
    std::map<double, std::uint64_t> steals_by_distance;
    /// Numbers of locks, in the order of their first use: the policy sees no addresses. Memory that is freed and allocated
    /// again keeps its numbers. With requirements::locks.
    std::unordered_map<const void*, std::uint32_t> lock_numbers;

    // ---- reports
    model_report at_begin{}; ///< of the present run
    mutable std::mutex reporting;
    std::optional<model_report> last_run{}; ///< guarded by `reporting`

    const membership member;
};

} // namespace weft::engine
