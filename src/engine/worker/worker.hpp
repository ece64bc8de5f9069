#pragma once

#include "engine/worker/block_cache.hpp"
#include "engine/worker/message.hpp"
#include "queue/mailbox.hpp"
#include "queue/worker_set.hpp"
#include "task/fiber.hpp"
#include "task/task.hpp"

#include <weft/impl/hot.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

namespace weft::trace {
class log;
}

namespace weft::engine {
struct arena;
struct engine;
struct host;
struct meter;

/// Written by its worker only; read by other threads for reports, so relaxed.
struct counter {
    std::atomic<std::uint64_t> value{0};
    void add(std::uint64_t n = 1) noexcept {
        value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get() const noexcept { return value.load(std::memory_order_relaxed); }
};

/// A stopwatch of engine time, which is started and stopped again and again. Written by its worker only, read
/// by other threads: relaxed.
struct stopwatch {
    void begin(std::int64_t now) noexcept { since_.store(now, std::memory_order_relaxed); }
    void end(std::int64_t now) noexcept {
        ended_.add(static_cast<std::uint64_t>(now - since_.load(std::memory_order_relaxed)));
        since_.store(0, std::memory_order_relaxed);
    }
    bool is_open() const noexcept { return since_.load(std::memory_order_relaxed) != 0; }
    /// The sum of all intervals, with what has passed of the open one. A reader on another thread may be off
    /// by one interval.
    std::int64_t until(std::int64_t now) const noexcept {
        const auto since = since_.load(std::memory_order_relaxed);
        return static_cast<std::int64_t>(ended_.get()) + (since && since < now ? now - since : 0);
    }

private:
    counter ended_;
    std::atomic<std::int64_t> since_{0}; ///< beginning of the open interval; 0: the stopwatch is stopped
};

struct worker_counters {
    counter tasks;     ///< tasks started
    counter steals;    ///< tasks and frames taken from another worker
    counter exposures; ///< entries exposed
    counter returned;  ///< entries exposed and reclaimed before the thief had them
    counter suspensions;
    stopwatch idle;     ///< time spent looking for work or asleep
    stopwatch asleep;   ///< the part of `idle` spent asleep
    counter suppressed; ///< exceptions that lost to an earlier one of their group
    counter parks;
    counter queued;            ///< children that it gave to the policy
    counter begun;             ///< children of any worker that were queued, and that it has taken and started
    counter exchanges;         ///< of its core for another worker's; written under the gate's lock
    counter refused_exchanges; ///< likewise, that the engine could not carry out
    counter declared_cycles, declared_bytes; ///< by tasks of an engine that has a slot (WEFT_SHARE)
    counter paced, used; ///< with emulated speeds: ns at work, and ns of processor time then
};

/// The hidden entries that a worker has given to the policy before a thief asked: engine/idle/README.md,
/// "Offering ahead". The atomic words are relaxed: they order nothing. The others belong to the worker.
struct offers_ahead {
    /// Offers that no worker has begun. The worker adds, and each worker that begins one subtracts.
    std::atomic<std::int32_t> waiting{0};
    std::atomic<bool> taken{false}; ///< a thief has begun one since the worker's last look
    int wanted = 1;                 ///< how many of them are to wait for thieves
    int credit = 0;                 ///< further offers, or failed looks, that the worker may make

    void search_begins(time_ns now) noexcept {
        worked_for += (std::min(now - works_since, longest) - worked_for) / 4;
    }
    void search_ends(time_ns now) noexcept { works_since = now; }
    /// Whether a steal brings more work than it costs.
    bool pays(time_ns now) const noexcept { return worked_for >= least || now - works_since >= 16 * least; }

private:
    static constexpr time_ns least = 8'000, longest = 100'000;
    time_ns works_since = 0;      ///< the end of the last search
    time_ns worked_for = longest; ///< between two searches, on average over the last ones
};

class skip_watch;

/// The fork whose closures run without events, in a profiled run: engine/run/skipped_forks.hpp. The worker's own.
struct skipped_fork {
    skip_watch* watch = nullptr; ///< null: the worker never skips
    bool is_inside = false;      ///< one of its closures runs
    impl::frame *fork = nullptr, *above = nullptr;
    fiber* of = nullptr; ///< on whose stack they lie
};

/// What the code that a switch arrives at does for the code that left, once the latter is fully saved.
struct switch_action {
    void (*run)(impl::worker&, void* a, void* b) = nullptr;
    void *a = nullptr, *b = nullptr;
};

} // namespace weft::engine

namespace weft::impl {

/// A place of execution: an OS thread in one engine, a virtual worker in the other. The fields belong to the
/// thread that runs the worker, except where said. Any switch of fibers may change the worker that runs the
/// current code, so the code fetches its worker again by `hot_self()` after each switch.
struct worker {
    worker(worker_id rank, weft::engine::engine& of, std::size_t workers);
    virtual ~worker() = default;

    /// Rank of its core in the machine; it is pinned there if the engine pins. Changes under the gate's lock, by
    /// arena::exchange(); relaxed: a reader that needs the pair of a worker and its core to stay holds that lock.
    int core() const noexcept { return core_now.load(std::memory_order_relaxed); }
    void set_core(int rank) noexcept { core_now.store(rank, std::memory_order_relaxed); }

    engine::arena& arena() const noexcept { return *arena_now.load(std::memory_order_relaxed); }

    const worker_id id; ///< among all workers of the engine
    weft::engine::engine& engine;
    engine::host& host; ///< the host and the meter of `engine`
    engine::meter& meter;
    worker_id local; ///< rank in its arena: the policy knows the worker by it
    /// The arena whose tasks it runs. Written by the worker; others read it to learn whether they may ask the
    /// worker.
    std::atomic<engine::arena*> arena_now{nullptr};
    /// The arena of the team for which it waits; written when all members have joined.
    std::atomic<engine::arena*> called_into{nullptr};
    task* share = nullptr; ///< its first task in the team, if it is a share; written before it is called in
    std::atomic<int> core_now{0};
    hot_words* hot = nullptr;
    fiber* current = nullptr; ///< the fiber whose code is running
    fiber* oldest = nullptr;  ///< the oldest fiber with hidden entries, of `current` and those below it
    exception_globals* exceptions = nullptr; ///< the thread's record of exceptions, of the C++ ABI
    engine::switch_action after_switch;
    bool observed = false; ///< the meter is told of the beginning and the end of each interval of user code
    /// Every fork and every return from a fork enters the runtime: the worker is `modelled` or traced.
    bool slow = false;
    bool modelled = false; ///< its time is virtual
    engine::skipped_fork skipped;
    bool times_tasks = false;     ///< requirements::own_usage: the time of user code is charged to its task
    bool counts_misses = false;   ///< requirements::own_misses
    bool counts_declared = false; ///< worker_counters::declared_cycles and declared_bytes
    time_ns user_code_began = 0;  ///< if times_tasks: when the current interval of user code began
    std::uint32_t spawns_to_look = 1; ///< until it counts again how many children wait
    bool calls_children = false;      ///< too many wait, when it looked last
    task* resume_first = nullptr;     ///< a waiter whose event came before it slept; it is resumed first
    fiber* free_fibers = nullptr;
    /// What a child of the silent zone threw while its closure moved; the parent continues next and rethrows it.
    std::exception_ptr refused;
    /// Runs a task that may be preempted. Written by its thread; read by those that send ticks on: seq_cst, with the leader
    /// of its group (Y6). A worker of the model runs none.
    std::atomic<bool> ticks{false};
    bool has_reserve_fiber = false; ///< it has one of the pool's reserve
    int put_back = 0;               ///< if so: how many tasks it did not start on it
    engine::block_cache blocks;

    /// Workers that ask this worker for an entry. Each asker inserts itself; this worker erases the asker
    /// when it answers. The set is a hint: the asker's slot decides. It has two members more than there are
    /// workers: engine::message_mark() and engine::ahead_mark().
    queue::worker_set<> askers;
    engine::offers_ahead ahead;
    /// For each thief, the policy's bytes of the task whose frame this worker exposed to it last; null if the
    /// policy has none. Written by this worker before it exposes the frame, read by the thief when it has the
    /// frame.
    std::unique_ptr<std::byte[]> exposed_task_data;
    queue::mailbox<engine::message> mailbox; ///< filled by any worker, read by this one

    group* bulk_group =
        nullptr; ///< of which bulk_ended children have ended here and are still counted as open
    std::int64_t bulk_ended = 0;

    engine::worker_counters count;
    trace::log* log = nullptr; ///< null without a trace; written in the runtime
};

} // namespace weft::impl

namespace weft::engine {
using impl::worker;
} // namespace weft::engine
