#pragma once

#include "engine/worker/block_cache.hpp"
#include "engine/worker/message.hpp"
#include "queue/mailbox.hpp"
#include "queue/worker_set.hpp"
#include "task/fiber.hpp"
#include "task/task.hpp"
#include "trace/write/recorder.hpp"

#include <weft/impl/hot.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::engine {
struct arena;
struct engine;
struct host;
struct meter;

/// Counted by the worker alone, read by others for reports: relaxed.
struct counter {
    std::atomic<std::uint64_t> value{0};
    void add(std::uint64_t n = 1) noexcept {
        value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    std::uint64_t get() const noexcept { return value.load(std::memory_order_relaxed); }
};

/// Time in stretches that begin and end, in engine time. Written by the worker alone, read by others:
/// relaxed.
struct stopwatch {
    void begin(std::int64_t now) noexcept { since_.store(now, std::memory_order_relaxed); }
    void end(std::int64_t now) noexcept {
        ended_.add(static_cast<std::uint64_t>(now - since_.load(std::memory_order_relaxed)));
        since_.store(0, std::memory_order_relaxed);
    }
    bool is_open() const noexcept { return since_.load(std::memory_order_relaxed) != 0; }
    /// All of them, with what has passed of the present one. From other threads: off by one stretch at most.
    std::int64_t until(std::int64_t now) const noexcept {
        const auto since = since_.load(std::memory_order_relaxed);
        return static_cast<std::int64_t>(ended_.get()) + (since && since < now ? now - since : 0);
    }

private:
    counter ended_;
    std::atomic<std::int64_t> since_{0}; ///< of the present one; 0: there is none
};

struct worker_counters {
    counter tasks;     ///< tasks started
    counter steals;    ///< tasks and frames got from another worker
    counter exposures; ///< entries handed out
    counter returned;  ///< entries handed out and taken back before the thief had them
    counter suspensions;
    stopwatch idle;     ///< looking for work or asleep
    stopwatch asleep;   ///< of these, asleep
    counter suppressed; ///< exceptions that lost to an earlier one of their group
    counter parks;
};

/// What the code that arrives after a switch does for the code that left: it runs when the latter is fully
/// saved.
struct switch_action {
    void (*run)(impl::worker&, void* a, void* b) = nullptr;
    void *a = nullptr, *b = nullptr;
};

} // namespace weft::engine

namespace weft::impl {

/// A place of execution: an OS thread in one engine, a virtual worker in the other. The fields belong to the
/// thread that runs it, except where said. Which worker runs the code at hand changes with every switch of
/// fibers: fetch it anew by `hot_self()` after each.
struct worker {
    worker(worker_id rank, weft::engine::engine& of, std::size_t workers);
    virtual ~worker() = default;

    engine::arena& arena() const noexcept { return *arena_now.load(std::memory_order_relaxed); }

    const worker_id id; ///< among all workers of the engine
    weft::engine::engine& engine;
    engine::host& host; ///< of `engine`, as the next one
    engine::meter& meter;
    worker_id local; ///< in its arena: what the policy calls it
    /// Whose tasks it runs. Written by the worker; others read it to know whether it may be asked.
    std::atomic<engine::arena*> arena_now{nullptr};
    std::atomic<engine::arena*> called_into{nullptr}; ///< that of the team it waits for, when all have come
    task* share = nullptr; ///< of the team's task: what it begins with; written before it is called in
    int core = 0;          ///< rank of the machine's core it stands for, and is pinned to if the engine pins
    hot_words* hot = nullptr;
    fiber* current = nullptr; ///< whose code is running
    fiber* oldest =
        nullptr; ///< of the fibers below `current` (itself included), the oldest with unexposed entries
    exception_globals* exceptions = nullptr; ///< the ABI's, of the thread
    engine::switch_action after_switch;
    bool observed = false; ///< the engine is told of each stretch of user code: user_code_begins, _ends
    bool slow = false; ///< every fork and every return from one comes to the runtime: `modelled`, or traced
    bool modelled = false; ///< its time is the engine's
    bool times_tasks =
        false; ///< requirements::own_usage: the time of each stretch of user code goes to its task
    bool counts_misses = false; ///< requirements::own_misses
    time_ns user_code_began = 0;
    task* resume_first = nullptr; ///< a waiter whose event came before it slept
    fiber* free_fibers = nullptr;
    int free_fiber_count = 0;
    engine::block_cache blocks;

    /// Set by the exposure handler while in_runtime; the way out of the runtime looks at it.
    std::atomic<bool> signalled{false};
    /// Workers that want a frame of this one. Inserted by them, erased by this worker when it answers. A
    /// hint: the asker's slot decides. One more than there are workers: engine::message_mark().
    queue::worker_set<> askers;
    /// For each worker, the policy's bytes of the task of the frame that it was given last; null if the
    /// policy has none. Written by this one before it hands the frame over, read by the other when it has it.
    std::unique_ptr<std::byte[]> given;
    queue::mailbox<engine::message> mailbox; ///< from any worker; read by this one

    engine::worker_counters count;
    trace::log* log = nullptr; ///< if there is a trace; written in the runtime
};

} // namespace weft::impl

namespace weft::engine {
using impl::worker;
} // namespace weft::engine
