#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/model/core_speed.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/model_worker.hpp"
#include "engine/model/numa_memory.hpp"
#include "engine/model/report.hpp"
#include "engine/model/scenario.hpp"
#include "engine/model/shared_bandwidth.hpp"
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
#include "queue/chain.hpp"

#include <condition_variable>
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
#include <utility>
#include <vector>

namespace weft::engine {

struct model_engine_options {
    int workers = 1; ///< at most the machine's ranks
    std::uint64_t seed = 1;
    std::size_t stack_bytes = std::size_t{1} << 20;
    std::size_t keep_fibers = 256;
    time_ns patience = 100'000; ///< from the first look without success to sleep
    bool measures = false;      ///< user code that declares no cost takes what it takes here
    scenario events{};
    record_options record{};
    double deadlock_seconds = 2; ///< of real time in which nobody else hands anything in
    double stuck_seconds = 30;   ///< of processor time in one stretch of user code, until it is spoken of
};

/// A patience that nobody outlives: workers never sleep.
inline constexpr time_ns for_ever = time_ns{1} << 61;

/// Virtual workers in virtual time: README.md beside this file.
struct model_engine final : host, engine, meter, team_host, timers, observation, lifetime {
    /// Throws weft::error for a machine that does not say how fast its cores are, and for files that cannot
    /// be written.
    model_engine(std::unique_ptr<policy>, machine, model_engine_options, resource_table = {},
                 policy_factory another = {});
    ~model_engine() override; ///< every root must have ended

    // host
    void schedule() override;
    void announce(worker&, const placement&) override;
    void answer(worker&, bool by_signal) noexcept override;
    void deliver(worker& sender, message&) override;
    bool reclaim(worker&, impl::frame&) noexcept override;
    time_ns now() const noexcept override { return clock.load(std::memory_order_relaxed); }
    void submit(task&, ready_reason) override;
    std::uint32_t draw(worker&, std::uint32_t below) override;

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
    int home_of(const void* first, std::size_t) const override { return data.home_of(first); }

    // lifetime
    bool of_this_process() const noexcept override { return member.of_this_process(); }
    void end_threads_at_exit() noexcept override;
    void settle() override;

    // observation
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
    void announce_in(arena& a, workers who) override { announce_in(a, who, 0); }
    void announce_in(arena&, workers who, worker_id near);
    void leave_search(worker& w) noexcept override { sleep_protocol_of(w.arena())->leave(w.local); }
    void await_team(worker&) override;
    void call(worker&) noexcept override;

    // virtual_time.cpp
    /// The running worker goes on after `d`; others run meanwhile.
    void pass(model_worker&, time_ns d) noexcept;
    /// The running worker goes on when somebody has made it: `after` from then on.
    void block(model_worker&) noexcept;
    void go_on(model_worker&, time_ns after) noexcept;
    /// Leaves `from` for whoever is next.
    void run_next(fiber& from) noexcept;
    void jump_to(fiber& from, model_worker* to) noexcept;
    void remember(std::uint64_t what) noexcept { history = (history ^ what) * 0x100000001b3u; }
    void turn(model_worker&, activity) noexcept;
    /// The running worker does that for so many nanoseconds; fractions add up.
    void spend(model_worker&, double ns, activity) noexcept;
    /// The same for work that takes so long on a core of speed 1.
    void do_work(model_worker&, double ns, work_kind, activity) noexcept;
    void flush_charges(model_worker&, activity) noexcept; ///< what it was charged
    void await_data(model_worker&) noexcept;              ///< that its user code has touched
    /// As shared_bandwidth::begin() says; returns when it is over.
    void await_transfer(model_worker&, double least_ns, double bytes, std::span<const shared_bandwidth::use>);
    void foresee_arrival();
    void change_bandwidths();
    void data_arrive();

    // search.cpp: the steps of worker_search
    using worker_type = model_worker;
    struct pace;
    pace pace_of(model_worker&) noexcept;
    void arrives(model_worker& w) noexcept { flush_charges(w, activity::overhead); }
    void keeps_working(model_worker&) noexcept;
    void stops_working(model_worker&) noexcept;
    void starts_working(model_worker&) noexcept;
    void look_begins(model_worker& w) noexcept { w.is_told = false; }
    void looked(model_worker&, const decision&, bool at_hand);
    bool hears_call(model_worker&);
    task* bound_task(model_worker&) noexcept {
        return nullptr;
    } ///< every virtual worker is active, as in the next one
    void wait_inactive(model_worker&) noexcept {}
    bool may_ask(const model_worker& victim) const noexcept { return victim.working; }
    impl::frame* ask(model_worker&, model_worker& victim);
    void begin_standing_ask(model_worker&) noexcept {}
    bool stands(model_worker&, model_worker& victim);
    bool is_interrupted(const model_worker&) const noexcept;
    void found_last(model_worker&, const decision&);
    bool has_arrivals(const model_worker&) const noexcept { return false; }
    bool sleeps_itself(model_worker&) noexcept { return false; }
    impl::frame* take_answer(model_worker& w) noexcept { return std::exchange(w.answer, nullptr); }
    void count_answer(model_worker&, const task&);
    void ends(model_worker&, fiber&) noexcept {} ///< workers end with the model's thread, wherever they are
    bool is_stopping() const noexcept { return false; }

    void wait_for_answer(model_worker&, model_worker& victim);
    void end_wait(model_worker& asker);
    void refuse_askers(model_worker& victim);
    bool expose_to(worker& victim, model_worker& thief) noexcept;
    void count_steal(model_worker&, const worker& from, const task*);
    double latency(const worker& from, const worker& to) const noexcept;
    /// What it takes to get a task and its data over a link, in nanoseconds beside the way.
    double transfer_time(const worker& from, const worker& to, const task*) const noexcept;
    bool never_sleeps() const noexcept { return options.patience >= for_ever; }

    // model_engine.cpp
    void run_thread();
    void watch_over(const std::stop_token&, clockid_t its_clock);
    model_report so_far();
    [[noreturn]] void report_deadlock();

    const model_engine_options options;
    recording files{*this};
    core_speed speed;
    numa_memory data;
    const std::size_t first_disk; ///< of the resources of `bandwidth`: memory comes first
    shared_bandwidth bandwidth;
    std::vector<std::uint64_t> disk_bytes; ///< moved, by disk
    std::vector<std::unique_ptr<model_worker>> all_workers;
    event_queue events;
    std::atomic<time_ns> clock{0}; ///< written by the model's thread; relaxed: others read it for reports
    fiber native;                  ///< of the thread's own stack
    exception_globals* exceptions = nullptr; ///< the ABI's, of the thread
    struct alarm {
        model_engine* in;
        timer* of;
        event_queue::number event;
    };
    std::map<timer*, alarm> alarms;             ///< looked up only
    std::optional<event_queue::number> arrival; ///< of the data that come first
    double bandwidths_hold_until = 0;           ///< then others take more or less of them
    std::map<double, std::uint64_t> steals_by_distance;
    std::vector<double> link_free_at; ///< [from package][to package]: a link carries one letter at a time
    wait_register waiting;
    int working_count = 0; ///< workers that run tasks
    int open_roots = 0;
    std::uint64_t history = 0;               ///< hash of all that has happened
    std::uint64_t steps = 0;                 ///< of virtual time
    std::atomic<std::uint64_t> stretches{0}; ///< of user code that have begun; relaxed: a sign of life

    model_report at_begin{}; ///< of the present run
    mutable std::mutex reporting;
    std::optional<model_report> last_run{}; ///< under `reporting`

    std::mutex arriving;
    std::condition_variable arrived_or_stopping, became_quiet;
    queue::chain<task> arrivals; ///< from other threads; under `arriving`
    bool stopping = false;       ///< likewise
    bool quiet = false;          ///< likewise: nothing happens until something arrives
    const membership member;
    std::thread thread;
    std::jthread watchdog;
};

} // namespace weft::engine
