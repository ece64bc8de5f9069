#pragma once

#include "engine/model/activity.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/numa_memory.hpp"
#include "engine/model/virtual_parker.hpp"
#include "engine/worker/worker.hpp"

#include <atomic>
#include <cstdint>
#include <random>

namespace weft::engine {

struct model_engine;

/// A worker in virtual time. One OS thread runs all of them, one after the other.
struct model_worker : worker {
    model_worker(worker_id rank, model_engine& of, std::size_t workers, std::uint64_t seed);

    model_engine& model;
    virtual_parker parker{*this};
    std::atomic<std::uint64_t> pending_wakes{0}; ///< see watch.hpp
    std::minstd_rand random;
    bool working = false; ///< runs tasks
    bool awaits_team = false;

    double pending_charges = 0; ///< charged and not paid yet, in nanoseconds on a core of speed 1
    double fraction = 0;        ///< of a nanosecond, due and not passed yet
    transfer touched{};         ///< by the present stretch of user code, and not waited for yet
    bool has_declared = false;  ///< the present stretch has said what it costs
    double cpu_began = 0;       ///< of the stretch, where stretches are timed
    timesheet times;

    impl::frame* answer =
        nullptr;                  ///< an entry on its way to this worker, which its owner may still take back
    int answered_by = 0;          ///< whose it is
    model_worker* asks = nullptr; ///< who has not answered yet
    bool is_told = false;         ///< something was announced that was left to it, since its last look
    event_queue::number deadline = 0;     ///< of that answer
    const char* waits_for_what = nullptr; ///< the running task is about to
    const void* waits_for_which = nullptr;
};

} // namespace weft::engine
