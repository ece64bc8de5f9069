#pragma once

#include "engine/idle/arena_sleep.hpp"
#include "engine/observe/recording.hpp"
#include "engine/observe/tally.hpp"
#include "engine/ports/host.hpp"
#include "engine/ports/lifetime.hpp"
#include "engine/ports/observation.hpp"
#include "engine/ports/team_host.hpp"
#include "engine/process/process.hpp"
#include "engine/threads/alarm_clock.hpp"
#include "engine/threads/exposure_handler.hpp"
#include "engine/threads/follower.hpp"
#include "engine/threads/thread_meter.hpp"
#include "engine/threads/thread_worker.hpp"
#include "engine/worker/engine.hpp"

#include <weft/impl/entry.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace weft::engine {

struct thread_engine_options {
    int workers = 1;
    std::uint64_t seed = 1;
    std::size_t stack_bytes = std::size_t{1} << 20;
    std::size_t keep_fibers = 256;
    bool pin = false; ///< worker w to the core of rank w; a refused mask leaves it where it is
    std::chrono::nanoseconds exposure_bound{50'000}; ///< from a flag that is not answered to the signal
    std::chrono::nanoseconds answer_bound{100'000};  ///< from the signal to looking elsewhere
    std::chrono::nanoseconds patience{100'000};      ///< from the first look without success to sleep
    int cores = std::numeric_limits<int>::max();     ///< that this process may use
    record_options record{};
    bool follow = false; ///< the number of active workers follows the cores that the process may use
};

/// Real threads. README.md beside this file has its protocols: asking, exposure, sleep.
struct thread_engine final : host, engine, team_host, observation, lifetime {
    thread_engine(std::unique_ptr<policy>, machine, const thread_engine_options&, resource_table = {},
                  policy_factory another = {});
    ~thread_engine() override; ///< every root must have ended

    // host
    void schedule() override;
    void announce(worker&, const placement&) override;
    void answer(worker&, bool by_signal) noexcept override;
    void deliver(worker& sender, message&) override;
    bool reclaim(worker&, impl::frame&) noexcept override;
    time_ns now() const noexcept override;
    void submit(task&, ready_reason) override;
    std::uint32_t draw(worker&, std::uint32_t below) override;

    // observation
    void root_begins() override;
    void root_ended(worker&) noexcept override;
    std::string describe_run(const tally& run, bool as_json) const override;

    // lifetime
    bool of_this_process() const noexcept override { return member.of_this_process(); }
    void end_threads_at_exit() noexcept override;

    // team_host
    static arena_sleep_protocol<thread_worker> sleep_protocol_of(arena& a) noexcept {
        return arena_sleep_protocol<thread_worker>(a);
    }
    void wake_in(arena& a, workers range) override { wake_parked<thread_worker>(a, range); }
    void wake_for_team(arena& a, const std::vector<int>& by_cell) override {
        wake_cells<thread_worker>(a, by_cell);
    }
    void announce_in(arena& a, workers who) override { sleep_protocol_of(a)->announce(who, 0); }
    void wake_inactive(arena&, rank_range) noexcept override;
    void leave_search(worker& w) noexcept override { sleep_protocol_of(w.arena())->leave(w.local); }
    void await_team(worker&) override;
    void call(worker& w) noexcept override { static_cast<thread_worker&>(w).parker.wake(); }

    // exposure.cpp
    void begin_ask(thread_worker& asker, thread_worker& victim) noexcept;
    void signal(thread_worker& victim) noexcept;
    void on_signal(thread_worker&) noexcept;
    void expose_to_askers(worker&) noexcept;

    // search.cpp: the steps of worker_search
    using worker_type = thread_worker;
    struct pace;
    pace pace_of(thread_worker&) noexcept;
    void arrives(thread_worker&) noexcept {}
    void keeps_working(thread_worker&) noexcept {}
    void stops_working(thread_worker&) noexcept;
    void starts_working(thread_worker&) noexcept;
    void look_begins(thread_worker& w) noexcept {
        w.pending_wakes_seen =
            w.pending_wakes.load(std::memory_order_relaxed); // if it changes, there is work
    }
    void looked(thread_worker& w, const decision& p, bool) noexcept { found_last(w, p); }
    bool hears_call(const thread_worker&) const noexcept { return true; }
    bool may_ask(const thread_worker& victim) const noexcept;
    impl::frame* ask(thread_worker&, thread_worker& victim);
    void begin_standing_ask(thread_worker& w) noexcept { w.slot.ask_anybody(w.arena().number); }
    bool stands(thread_worker&, thread_worker& victim) noexcept;
    bool is_interrupted(const thread_worker&) const noexcept;
    void found_last(thread_worker&, const decision&) noexcept;
    bool has_arrivals(const thread_worker&) const noexcept;
    bool sleeps_itself(thread_worker&) noexcept;
    impl::frame* take_answer(thread_worker& w) noexcept { return w.slot.withdraw(); }
    void count_answer(thread_worker& w, const task&) noexcept { w.count.steals.add(); }
    void ends(thread_worker&, fiber&) noexcept;
    bool is_stopping() const noexcept {
        return stopping.load(std::memory_order_acquire);
    } // pairs with stop()
    void rest() const noexcept;

    // active.cpp
    /// How many workers take part, the lowest ranks: 1 to all of them; what is beyond is cut. Under a policy
    /// that is not resizable nothing changes. From any thread; returns when the policy has been told, while
    /// workers may still be busy with what they have.
    void set_active(int count);
    void wait_inactive(thread_worker&);
    /// What only workers of its rank may run: it comes for that even when it is not active.
    static task* bound_task(const thread_worker&);
    /// As many active workers as there are cores, by the threads' affinity masks and the quota.
    void follow(std::optional<double> quota);

    void run_thread(thread_worker&);
    void pin(const thread_worker&) const noexcept;
    void stop() noexcept;

    /// What programs declare comes to the workers, as long as there is one.
    struct listener {
        listener() noexcept { impl::listeners.fetch_add(1, std::memory_order_relaxed); }
        ~listener() { impl::listeners.fetch_sub(1, std::memory_order_relaxed); }
    };
    const thread_engine_options options;
    thread_meter usage_meter{on};
    recording files{*this};
    std::optional<listener> listens; ///< if misses are taken from what is declared
    alarm_clock alarms{*this};
    std::vector<std::unique_ptr<thread_worker>> all_workers;
    // Of the outermost arena.
    queue::worker_set<>&searching = outermost.searching, &parked = outermost.parked;
    std::atomic<int>& active_count =
        outermost.active_count; ///< written under resizing; README.md, "Who stands by"
    std::atomic<bool> stopping{false};
    std::atomic<int> submitting{0}; ///< threads inside submit()
    std::mutex counting_roots;      ///< guards the next two, where there are reports
    int open_roots = 0;
    tally at_begin{};          ///< of the present run: from the first of the open roots to the last one's end
    const bool crowded;        ///< more workers than cores: who searches lets others run
    std::mutex resizing;       ///< policy::resized() is never beside itself
    bool incomplete = false;   ///< some thread could not be created; written before all_ready opens
    std::latch all_ready;      ///< the threads and the constructor; outlives the last wait in it
    std::latch all_ended;      ///< no worker's words go before the last one has stopped asking
    std::atomic<int> ended{0}; ///< threads that are through with this engine's words
    bool abandon = false;      ///< threads end without a word; written before `stopping`
    const membership member;   ///< as long as there are threads, as is the next one
    const exposure_handler handler;
    std::optional<follower> follows; ///< if options.follow and there is anything to be changed
};

} // namespace weft::engine
