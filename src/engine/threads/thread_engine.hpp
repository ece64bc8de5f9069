#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/observe/recording.hpp"
#include "engine/ports/host.hpp"
#include "engine/ports/lifetime.hpp"
#include "engine/ports/observation.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/process/process.hpp"
#include "engine/run/thread_waiter.hpp"
#include "engine/threads/alarm_clock.hpp"
#include "engine/threads/core_count_follower.hpp"
#include "engine/threads/core_lending.hpp"
#include "engine/threads/exposure_handler.hpp"
#include "engine/threads/pinned_threads.hpp"
#include "engine/threads/preemption/preempter.hpp"
#include "engine/threads/speeds/pacer.hpp"
#include "engine/threads/thread_meter.hpp"
#include "engine/threads/thread_worker.hpp"
#include "engine/threads/work_clock.hpp"
#include "engine/worker/engine.hpp"

#include <weft/impl/entry.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>

namespace weft::engine {

class run_account;
class shared_slot;
struct thread_report;

struct thread_engine_options {
    int workers = 1;
    std::uint64_t seed = 1;
    std::size_t stack_bytes = std::size_t{8} << 20;
    std::size_t keep_fibers = 256;
    std::size_t most_waiting = default_most_waiting;
    bool lend_places = true; ///< to threads that wait outside
    bool pin = false;        ///< worker w to the core of rank w; a refused mask leaves the thread where it is
    /// With `pin`: only while it has no work, unless the policy exchanges cores, tasks are preempted, or cores are lent or emulated.
    bool pin_without_work = false;
    std::chrono::nanoseconds exposure_bound{50'000}; ///< from an ask without an answer to the signal
    std::chrono::nanoseconds answer_bound{100'000};  ///< from the signal to looking elsewhere
    std::chrono::nanoseconds spin_time{100'000};     ///< from the first look that finds nothing to sleep
    int cores = std::numeric_limits<int>::max();     ///< that this process may use
    record_options record{};
    preemption_options preempt{};
    emulated_speeds speeds{}; ///< empty: the workers run as fast as they can
    std::string share{};      ///< WEFT_SHARE: the slot among the programs of this machine; empty: none
    lending_options
        lend{}; ///< the cores that it lends and borrows; the workers beyond the own cores are guests
    bool follow_cores = false; ///< the number of active workers follows the cores that the process may use
};

/// The cores on which the calling thread may run; empty if the system has too many.
std::optional<cpu_set_t> own_mask() noexcept;

/// An engine whose workers are OS threads. README.md beside this file says what is about threads;
/// engine/idle/README.md has the protocols of asking, exposure and sleep.
struct thread_engine final : host, engine, team_host, observation, lifetime {
    thread_engine(std::unique_ptr<policy>, weft::machine, const thread_engine_options&, resource_table = {},
                  policy_factory another = {});
    ~thread_engine() override; ///< requires: every root has ended

    // ---- ports
    // host
    void schedule() override;
    bool exchange_cores(worker&, worker&) noexcept override;
    void announce(worker&, const placement&) override;
    void answer(worker&, bool by_signal) noexcept override;
    void call_attention(worker& w) noexcept override { mark(static_cast<thread_worker&>(w)); }
    void deliver(worker& sender, message&) override;
    bool reclaim(worker&, impl::frame&) noexcept override;
    time_ns now() const noexcept override;
    void submit(task&, ready_reason) override;
    void wait_outside(thread_waiter&, task* root) override;
    std::uint32_t draw(worker&, std::uint32_t below) override;
    void preemptible_runs(worker&, const task&) noexcept override;
    fiber& leave_for_thread_of(worker&, task&) noexcept override;
    void preemptible_is_made() noexcept override;

    // observation
    void root_begins(task&) override;
    bool run_continues() override;
    void root_ended(worker&) noexcept override;
    std::string describe_run(const tally& run, bool as_json) const override;
    std::string describe_all_runs(bool as_json) override;
    thread_report report_of(const tally& run) const;

    // lifetime
    bool belongs_to_this_process() const noexcept override { return member.belongs_to_this_process(); }
    void end_threads_at_exit() noexcept override;

    // team_host
    static arena_sleep_protocol<thread_worker> sleep_protocol_of(arena& a) noexcept {
        return arena_sleep_protocol<thread_worker>(a);
    }
    void wake_in(arena& a, workers range) override { wake_parked<thread_worker>(a, range); }
    void wake_for_team(arena& a, const std::vector<int>& by_cell) override {
        wake_cells<thread_worker>(a, by_cell);
    }
    void announce_in(arena& a, workers range) override { announce_in(a, range, 0); }
    static void announce_in(arena&, workers range, worker_id near) noexcept;
    void wake_inactive(arena& a, rank_range ranks) noexcept override {
        wake_inactive_in<thread_worker>(a, ranks);
    }
    /// From then on the number does not follow the cores any more. Returns when the policy has been told.
    void set_active(int count) override;
    void leave_search(worker& w) noexcept override { sleep_protocol_of(w.arena())->leave(w.local); }
    void await_team(worker&) override;
    void call(worker& w) noexcept override { static_cast<thread_worker&>(w).parker.wake(); }

    // ---- asking and exposure: exposure.cpp
    void begin_ask(thread_worker& asker, thread_worker& victim) noexcept;
    void mark(thread_worker&) noexcept; ///< makes its next fork take the slow path
    bool signal(
        thread_worker& victim) noexcept; ///< at most one on its way (X2); false: it would find nothing (X4)
    void on_signal(thread_worker&) noexcept; ///< in the signal handler of that worker's thread
    void expose_to_askers(worker&) noexcept;

    // ---- the steps of worker_search: search.cpp
    using worker_type = thread_worker;
    struct spin_budget;
    spin_budget spin_budget_of(thread_worker&) noexcept;
    void before_first_look(thread_worker&) noexcept {}
    void keeps_working(thread_worker&) noexcept {}
    void stops_working(thread_worker&) noexcept;
    void starts_working(thread_worker&) noexcept;
    static bool is_notified(const thread_worker& w) noexcept {
        return w.notified.load(std::memory_order_relaxed);
    }
    static void before_look(thread_worker& w) noexcept {
        if (is_notified(w)) w.notified.store(false, std::memory_order_relaxed);
    }
    void after_look(thread_worker& w, const decision& p, bool) noexcept { found_in_last_look(w, p); }
    bool looks_at_call(const thread_worker&) const noexcept { return true; }
    bool may_ask(const thread_worker& victim) const noexcept;
    impl::frame* ask(thread_worker&, thread_worker& victim);
    void begin_standing_asks(thread_worker& w) noexcept { w.slot.ask_any(w.arena().number); }
    bool place_standing_ask(thread_worker&, thread_worker& victim) noexcept;
    bool is_interrupted(const thread_worker&) const noexcept;
    void found_in_last_look(thread_worker&, const decision&) noexcept;
    bool must_look_again(const thread_worker&) const noexcept;
    /// True if there is stack memory that the worker can release once no task has needed it for some time.
    bool has_idle_stacks(const thread_worker&) const noexcept;
    task* sleep(thread_worker&) noexcept;
    impl::frame* take_answer(thread_worker& w) noexcept { return w.slot.withdraw(); }
    void count_answer(thread_worker& w, const task&) noexcept { w.count.steals.add(); }
    void end_worker(thread_worker&) noexcept;
    bool is_stopping(const thread_worker& w) const noexcept {
        return stopping.load(std::memory_order_acquire) || // pairs with stop()
               (w.until && !w.arena().is_team() &&
                (w.until->is_woken() || !lends_places.load(std::memory_order_relaxed)));
    }
    void pause_or_yield() const noexcept;

    // ---- external threads as workers: external.cpp
    /// A worker without work, whose own thread goes on sleeping until the caller has left; or null.
    thread_worker* take_place() noexcept;
    /// Works as `w` until the waiter is woken, beginning with `root` if it is not null. False if it has not begun for
    /// want of a stack.
    bool work_as(thread_worker& w, thread_waiter& until, task* root);

    // ---- active workers: active.cpp
    void change_active(int count); ///< of the workers on own cores; requires: the caller holds `resizing`
    void match_active();           ///< likewise: to what is chosen, and the guests
    /// That many workers on borrowed cores are active, if all those on own cores are.
    void set_guests(int count);
    void begin_lending();
    bool may_borrow(); ///< all workers on own cores are active
    bool is_guest(const worker& w) const noexcept { return w.id >= homes; }
    void wait_inactive(thread_worker&);
    static task* bound_task(const thread_worker& w) { return bound_task_of(w); }
    /// What the table of programs wishes; 0: nothing. It comes before the number of cores, and after what the program chooses.
    void wish_active(int count);
    /// Makes as many workers active as there are cores, by the threads' affinity masks and the quota.
    void match_active_to_cores(std::optional<double> quota);

    // ---- the threads: thread_engine.cpp
    void run_thread(thread_worker&);
    /// The thread runs its worker, and others later, until the engine stops or the thread is not needed any more.
    void serve(kernel_thread&);
    bool is_own_thread(const kernel_thread&) const noexcept;
    /// The calling thread runs the worker from now on: it is pinned to the worker's core, if the engine pins.
    void occupies(thread_worker&, kernel_thread& self) noexcept;
    /// The same for the thread that runs it: the system has moved it.
    void pin_again(thread_worker&) noexcept;
    /// False if the system refuses.
    bool pin(const kernel_thread&, int core) const noexcept;
    cpu_set_t mask_of(int core) const noexcept;
    // home_core.cpp: before the worker sleeps, and before it works.
    void goes_home(thread_worker&) const noexcept;
    void leaves_home(thread_worker&) const noexcept;
    void stop() noexcept;

    /// While one exists, what programs declare reaches the workers.
    struct listener {
        listener() noexcept { impl::listeners.fetch_add(1, std::memory_order_relaxed); }
        ~listener() { impl::listeners.fetch_sub(1, std::memory_order_relaxed); }
    };

    // ---- settings: written by the constructor
    const thread_engine_options options;
    const int homes;           ///< workers on own cores; those of higher ranks are guests
    const bool oversubscribed; ///< more workers than cores: a worker that searches yields

    // ---- what is recorded
    thread_meter usage_meter{machine};
    recording files{*this};
    std::optional<listener> listens;      ///< if misses are taken from what is declared
    std::unique_ptr<run_account> account; ///< if there is a report; emplaced before there are threads

    // ---- workers
    alarm_clock alarms{*this};
    std::vector<std::unique_ptr<thread_worker>> all_workers; ///< written by the constructor; read by all
    // Of the outermost arena: idle/README.md, "Words".
    queue::worker_set<>&searching = outermost.searching, &parked = outermost.parked;
    std::atomic<int>& active_count = outermost.active_count; ///< written under `resizing` (S6)
    pinned_threads<> pinned; ///< to the cores of their workers, if the engine pins
    /// Where workers run that are pinned only without work; empty: there are none. Written by the constructor.
    std::optional<cpu_set_t> away_from_home{};
    std::mutex resizing;        ///< one call of policy::resized() at a time; guards the next ones
    bool follows_cores = true;  ///< match_active_to_cores() has an effect
    bool program_chose = false; ///< by set_active(): wishes have no effect
    int wished_active = 0;      ///< by the table of programs; 0: nothing is wished
    int chosen_active = 0;      ///< of the workers on own cores
    int active_guests = 0;      ///< that are to be active

    // ---- external threads
    /// External threads may work as workers. Written by the constructor, and when preemption begins; relaxed: an external
    /// thread that reads it late leaves soon.
    std::atomic<bool> lends_places{false};
    std::vector<worker_id>
        worker_of_cpu{}; ///< by the number that the operating system gives the core; 0: unknown
    /// External threads that look for a place; a searching worker then makes room. Relaxed: a hint.
    std::atomic<int> looking_for_place{0};

    // ---- ticks
    std::optional<work_clock> ticks_of_policy; ///< if it wants some; emplaced before there are threads
    preempter preemption{*this, options.preempt};
    std::optional<pacer> pace;           ///< if speeds are emulated; likewise
    std::unique_ptr<core_lending> lends; ///< if cores are lent; likewise

    // ---- beginning and end
    /// Written by stop(), seq_cst; read by workers and await_team(): acquire, or seq_cst before a sleep.
    std::atomic<bool> stopping{false};
    /// Threads inside submit(). They add relaxed, before the push, and subtract release; the destructor
    /// acquires.
    std::atomic<int> submitting{0};
    bool incomplete = false;           ///< a thread could not be created; written before all_ready opens
    bool ending_at_exit = false;       ///< threads end without running destructors; written before `stopping`
    std::latch all_ready;              ///< the threads and the constructor; outlives the last wait in it
    std::latch all_ended;              ///< no worker's words go before the last worker has stopped asking
    std::atomic<int> threads_ended{0}; ///< that use the engine no more; added release, read acquire
    // The next two, as long as there are threads.
    const membership member;
    const exposure_handler handler;
    std::optional<core_count_follower> cores_follower; ///< if options.follow_cores, and the number can change
    std::unique_ptr<shared_slot> shared; ///< if options.share, and no other runtime has that slot
};

} // namespace weft::engine
