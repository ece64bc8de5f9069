#pragma once

#include "engine/idle/ask_slot.hpp"
#include "engine/threads/miss_counter.hpp"
#include "engine/threads/parker.hpp"
#include "engine/worker/worker.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <random>

#include <pthread.h>

namespace weft::engine {

struct thread_engine;

/// A worker that is an OS thread. Fields without a remark belong to that thread.
struct thread_worker : worker {
    thread_worker(worker_id rank, weft::engine::engine& of, std::size_t workers, std::uint64_t seed)
        : worker(rank, of, workers)
        , random(seed) {}

    pthread_t thread{};
    fiber native; ///< control block of the thread's own stack, where it ends
    std::minstd_rand random;
    std::optional<miss_counter> counter{}; ///< if the engine counts misses; of this thread
    task_counts counted_before{};          ///< at the beginning of the stretch of user code

    ask_slot<> slot; ///< see ask_slot
    futex_parker parker;
    /// True while it runs a task, false while it looks for one. Written by the worker; seq_cst: the pair with
    /// the set of askers, README.md, "Sleep".
    std::atomic<bool> working{true};
    /// How often it said "nothing to hand out": by its handler, and each time it starts looking for work.
    /// Written by the worker, read by those who ask it.
    std::atomic<std::uint64_t> refusals{0};
    /// Range of workers (first, last as 32 bits each) for whom something was announced that was left to this
    /// one, or for which it was woken: if it gets busy, it wakes another of them. Merged by announcers, taken
    /// by the worker.
    std::atomic<std::uint64_t> pending_wakes{0};
    std::uint64_t pending_wakes_seen = 0; ///< by its last look
    /// A signal is on its way: at most one, since they queue. Set by who sends it, cleared by the handler.
    std::atomic<bool> signal_out{false};
};

} // namespace weft::engine
