#pragma once

#include "engine/core/engine.hpp"
#include "engine/core/watch.hpp"
#include "engine/model/charges.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/virtual_bed.hpp"
#include "engine/threads/process.hpp"
#include "queue/chain.hpp"
#include "engine/core/watch.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace weft::engine {

struct model_engine;

/// A worker in virtual time. One OS thread runs all of them, one after the other.
struct model_worker : worker {
    model_worker(worker_id rank, model_engine& of, std::size_t workers, std::uint64_t seed);

    model_engine& model;
    virtual_bed bed{*this};
    std::atomic<std::uint64_t> owed{0}; ///< see watch.hpp
    std::minstd_rand random;
    bool working = false;         ///< runs a task
    time_ns debt = 0;             ///< charged and not paid yet
    time_ns declared = 0;         ///< by weft::cost, passed
    impl::frame* answer = nullptr; ///< an entry on its way to this worker, which its owner may still take back
};

struct model_engine_options {
    int workers = 1;
    std::uint64_t seed = 1;
    std::size_t stack_bytes = std::size_t{1} << 20;
    std::size_t keep_fibers = 256;
    time_ns patience = 100'000; ///< from the first look without success to sleep
    charges price{};
};

/// Virtual workers in virtual time: README.md beside this file.
struct model_engine final : engine, policy_context {
    model_engine(std::unique_ptr<policy>, machine, const model_engine_options&);
    ~model_engine() override; ///< every root must have ended

    // engine
    void schedule() override;
    void announce(worker&, const placed&) override;
    void answer(worker&, bool by_signal) noexcept override;
    bool take_back(worker&, impl::frame&) noexcept override;
    time_ns now() const noexcept override { return clock.load(std::memory_order_relaxed); }
    void submit(task&, why) override;
    int worker_count() const noexcept override { return static_cast<int>(crew.size()); }
    const worker& worker_at(int rank) const noexcept override { return *crew[static_cast<std::size_t>(rank)]; }
    void set_timer(timer&) override;
    void cancel_timer(timer&) noexcept override;
    void user_code_ends(worker&) noexcept override;
    void user_code_begins(worker&) noexcept override;
    void charge(worker&, operation) noexcept override;
    void task_retired(worker&, const task&) noexcept override;
    void declare_cost(worker&, std::uint64_t cycles) noexcept override;
    bool of_this_process() const noexcept override { return member.of_this_process(); }
    void end_threads_at_exit() noexcept override;
    std::optional<stretch> last_stretch() const override { return measured; }
    void settle() override;

    // policy_context
    workers all() const override { return {0, worker_count()}; }
    workers active() const override { return all(); }
    int core_of(worker_id w) const override { return w; }
    std::uint32_t random(worker_id, std::uint32_t below) override;
    void wake(workers) override;
    [[noreturn]] void post(worker_id, worker_id, int, task*) override;
    [[noreturn]] void exchange(worker_id, worker_id) override;
    [[noreturn]] void preempt(worker_id) override;
    [[noreturn]] std::span<task*> mold(task&, int) override;
    [[noreturn]] snapshot running(worker_id) const override;
    [[noreturn]] usage so_far(const task&) const override;

    // model_engine.cpp: time
    /// The running worker goes on after `d`; others run meanwhile.
    void pass(model_worker&, time_ns d) noexcept;
    /// The running worker goes on when somebody has made it: `after` from then on.
    void block(model_worker&) noexcept;
    void go_on(model_worker&, time_ns after) noexcept;
    /// Leaves `from` for whoever is next.
    void run_next(fiber& from) noexcept;
    void jump_to(fiber& from, model_worker* to) noexcept;
    void run_thread();
    /// The running worker passes what it was charged.
    void pay(model_worker&) noexcept;
    time_ns scaled(const model_worker&, double ns) const noexcept;
    void note(std::uint64_t what) noexcept;

    // search.cpp
    task* find_work(model_worker&);
    pick look(model_worker&, bool last);
    task* ask(model_worker&, model_worker& victim);
    task* park(model_worker&);
    task* receive(model_worker&, impl::frame*);
    bool take_submitted(model_worker&);
    bool hand_out(worker& victim, model_worker& thief) noexcept;
    auto watching() noexcept { return watch<decltype(crew)>{searching, parked, crew, active_count}; }
    time_ns way(worker_id from, worker_id to) const noexcept;

    const model_engine_options options;
    std::vector<std::unique_ptr<model_worker>> crew;
    event_queue events;
    std::atomic<time_ns> clock{0}; ///< written by the model's thread; relaxed: others read it for reports
    fiber native;                  ///< of the thread's own stack
    exception_globals* exceptions = nullptr; ///< the ABI's, of the thread
    queue::worker_set<> searching, parked;
    std::atomic<int> active_count;
    queue::chain<task> inbox;                 ///< handed in by the model itself
    std::map<timer*, event_queue::number> timers; ///< looked up only
    int open_roots = 0;
    stretch measured{};       ///< written before the last root's end is told
    std::uint64_t history = 0; ///< hash of all that has happened

    std::mutex arriving;
    std::condition_variable arrived_or_stopping, became_quiet;
    queue::chain<task> arrivals; ///< from other threads; under `arriving`
    bool stopping = false;       ///< likewise
    bool quiet = false;          ///< likewise: nothing happens until something arrives
    const membership member;
    std::thread thread;
};

} // namespace weft::engine
