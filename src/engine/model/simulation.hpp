#pragma once

#include "engine/model/core_speed.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/numa_memory.hpp"
#include "engine/model/scenario.hpp"
#include "engine/model/shared_bandwidth.hpp"
#include "engine/model/shared_cores.hpp"
#include "machine/machine.hpp"
#include "queue/chain.hpp"
#include "task/fiber.hpp"
#include "task/task.hpp"

#include <weft/impl/deadlock_scope.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

namespace weft::engine {

struct model_engine;
struct model_worker;
class program_placer;

struct simulation_options {
    scenario changes{}; ///< of the machine
    std::uint64_t seed = 1;
    double deadlock_seconds = 2; ///< of real time in which no other thread submits a task
    impl::deadlock_scope::handler on_deadlock = impl::deadlock_scope::current(); ///< empty: the process ends
    double stuck_seconds = 30; ///< of processor time in one stretch of user code, until it is reported
};

/// A modelled machine in virtual time, and the thread on which all that happens there happens. It has one engine, or
/// several: programs side by side, whose workers share cores, caches and memory. All members belong to that thread,
/// except where said.
struct simulation {
    simulation(const weft::machine&, simulation_options);
    ~simulation(); ///< requires: no engine is left
    simulation(const simulation&) = delete;
    simulation& operator=(const simulation&) = delete;

    // ---- engines; any thread
    void
    require_shareable(const model_engine&); ///< throws weft::error if it cannot be beside the engines here
    /// From now on the engine's workers look for work. Waits until nothing is left to happen. The first engine starts the
    /// thread; with the second one the programs share the cores.
    void enter(model_engine&);
    void leave(model_engine&); ///< waits likewise. Requires: every root of the engine has ended
    /// The thread ends if nothing is left to happen: the process is about to end. True if it has ended.
    bool end_thread_at_exit() noexcept;
    void wait_until_quiet();
    /// Calls `f` when nothing is left to happen; nothing happens meanwhile.
    template <class F>
    void when_quiet(F&& f) {
        std::unique_lock lock(submission_mutex);
        became_quiet.wait(lock, [&] { return quiet; }); // the thread waits for this lock
        f();
    }
    /// A task of another thread: it comes when nothing else is going to happen.
    void submit(task&);
    /// Whether the caller is on the simulation's thread.
    bool runs_here() const noexcept;

    // ---- time, events and workers
    time_ns now() const noexcept { return clock.load(std::memory_order_relaxed); }
    void set_clock(time_ns to) noexcept;
    /// The running worker resumes when it has had its core for `d`; other workers run in between.
    void advance(model_worker&, time_ns d) noexcept;
    /// If nothing else happens until then, the clock is set: true.
    bool passes_alone(time_ns until) noexcept;
    /// The running worker stops until resume_worker() was called for it, and the time given there has passed. It keeps its
    /// core.
    void suspend_worker(model_worker&) noexcept;
    /// The same, and it leaves its core to other programs meanwhile.
    void sleep_worker(model_worker&) noexcept;
    event_queue::number resume_worker(model_worker&, time_ns after) noexcept;
    /// Leaves `from` for the worker of the next event, or for the thread's own stack if no event is left.
    void run_next_event(fiber& from) noexcept;
    void switch_worker(fiber& from, model_worker* to) noexcept;
    void hash_event(std::uint64_t what) noexcept { event_hash = (event_hash ^ what) * 0x100000001b3u; }

    // ---- data in transfer
    /// Begins a transfer as shared_bandwidth::begin() says, and returns when it is over.
    void await_transfer(model_worker&, double least_ns, double bytes, std::span<const shared_bandwidth::use>);
    /// The same, to or from a disk: the worker is blocked in the operating system, and leaves its core to other programs.
    void await_disk(model_worker&, double least_ns, double bytes, std::span<const shared_bandwidth::use>);
    /// Schedules end_transfers() for the next time at which a transfer ends or a capacity changes.
    void schedule_transfer_end();
    void end_transfers();
    void update_capacities(); ///< by the scenario

    // ---- the thread
    void run_thread();
    void run_watchdog(const std::stop_token&, clockid_t thread_clock);
    bool has_open_roots() const noexcept;
    void report_deadlock();
    [[noreturn]] void report_end_of_time() noexcept;

    // ---- the modelled machine
    const weft::machine machine;
    const simulation_options options;
    core_speed speed;
    numa_memory data;
    const std::size_t first_disk; ///< of the resources of `bandwidth`: memory comes first
    shared_bandwidth bandwidth;
    std::vector<std::uint64_t> disk_bytes; ///< moved, by disk
    /// [from package][to package], by which a link carries one message at a time: it is free `after` ns after
    /// `since`.
    struct busy_link {
        time_ns since = 0;
        double after = 0;
    };
    std::vector<busy_link> links;
    std::optional<shared_cores>
        cores; ///< which worker has a core; empty: there is one program, with a core for each

    // ---- time and events
    event_queue events;
    std::atomic<time_ns> clock{
        0};       ///< written by the simulation's thread; relaxed: others read it for reports
    fiber native; ///< of the thread's own stack
    exception_globals* exceptions = nullptr; ///< the ABI's, of the thread
    std::optional<event_queue::number> next_transfer_end;
    time_ns capacities_valid_until = 0; ///< then the scenario changes the bandwidth of a node
    std::uint64_t event_hash = 0;       ///< of all events so far
    std::uint64_t steps = 0;            ///< of virtual time
    /// Stretches of user code that have begun. Written by the simulation's thread, read by the watchdog: relaxed.
    std::atomic<std::uint64_t> stretches{0};

    // ---- programs
    std::vector<model_engine*> engines;
    program_placer* placer = nullptr;   ///< null: they are where they are
    std::vector<model_worker*> workers; ///< of all engines that were ever here, by model_worker::number

    // ---- what other threads share with the simulation's thread
    std::mutex submission_mutex; ///< guards the next members
    std::condition_variable submitted_or_stopping, became_quiet;
    queue::chain<task> submitted; ///< by other threads
    /// Tasks of other threads come when there are so many of them: all at the same virtual time, in the order of their engines.
    std::size_t awaited_submissions = 1;
    model_engine* entering = nullptr;
    bool stopping = false;
    bool quiet = false; ///< no event is left, and no task was submitted

    // ---- threads; destroyed first
    std::thread thread;
    std::jthread watchdog;
};

} // namespace weft::engine
