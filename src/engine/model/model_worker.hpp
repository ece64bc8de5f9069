#pragma once

#include "engine/model/activity.hpp"
#include "engine/model/event_queue.hpp"
#include "engine/model/numa_memory.hpp"
#include "engine/model/virtual_parker.hpp"
#include "engine/worker/worker.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace weft::engine {

struct model_engine;

/// Of a worker that shares its core with those of other programs.
enum class core_state : std::uint8_t { asleep, waiting, running };

/// A worker in virtual time. One OS thread runs all of them, one after another, so no field needs an order.
struct model_worker : worker {
    model_worker(worker_id rank, model_engine& of, std::size_t workers, std::uint64_t seed);

    model_engine& model;
    int number = 0; ///< among the workers of the simulation
    std::minstd_rand random;

    // ---- sleep and search: idle/README.md
    virtual_parker parker{*this};
    /// The range of workers for which something was announced and left to this worker; see
    /// idle/sleep_protocol.hpp.
    std::atomic<std::uint64_t> pending_wakes{0};
    bool working = false;  ///< runs tasks
    bool notified = false; ///< something was announced and left to it since its last look
    bool awaits_team = false;
    time_ns search_since = 0; ///< for the spin time
    time_ns looked_at = 0;    ///< when its last look began
    /// While it waits in after_look(), and may look on: what it has found. Its stack is not touched then: the stacks of
    /// all workers have their lines in the same sets of the caches of the machine that computes this.
    std::optional<decision> found{};

    // ---- asking
    impl::frame* answer = nullptr; ///< an entry on its way to this worker; its owner may still reclaim it
    int answered_by = 0;           ///< the owner of that entry
    model_worker* asked_victim = nullptr; ///< has not answered yet; null: this worker waits for no answer
    /// Of that answer: the event of the victim's interruption. Empty once it has come: the worker may then wait for its core.
    std::optional<event_queue::number> deadline{};

    // ---- time
    double pending_charges = 0; ///< charged and not yet spent, in nanoseconds on a core of speed 1
    double time_fraction = 0;   ///< of a nanosecond, charged and not yet spent
    transfer touched{};         ///< by the present stretch of user code, and not waited for yet
    /// Of the present stretch, since it last waited for data: how long it has computed. Or, if it has just waited: how long.
    double computed_ns = 0, waited_ns = 0;
    /// Up to this time the worker has had the ticks of its present task.
    time_ns ticked = 0;
    bool has_declared = false; ///< the present stretch has declared what it costs
    double cpu_began =
        0; ///< of the present stretch, where stretches are timed: thread CPU time in nanoseconds
    activity_times times;

    // ---- the exchange of cores: exchange.cpp
    double exchange_ns = 0;    ///< of exchanges, not yet spent: nanoseconds on any core
    bool works = false;        ///< in work_until(): an exchange ends the wait for the end of the work
    bool changed_core = false; ///< an exchange has done so
    std::optional<event_queue::number> work_ends{}; ///< while it waits
    struct range {
        const void* first;
        std::size_t bytes;
    };
    /// What the task has declared for reading and writing before its present cost: it works on that meanwhile.
    std::vector<range> works_on{};
    bool has_cost = false; ///< a cost has come since the last of these

    // ---- several programs: shared_cores
    core_state on_core = core_state::asleep;
    time_ns core_time = 0;       ///< processor time, relative to that of the others on its core
    time_ns core_time_left = 0;  ///< that it spends now
    time_ns core_time_until = 0; ///< when it will have spent it, if nothing interrupts it
    std::optional<event_queue::number> core_time_ends{}; ///< then; empty: it cannot be interrupted now
    std::optional<int> moves_to{};                       ///< the core, as soon as it can be interrupted
    activity activity_on_core = activity::asleep;        ///< while it waits for one
    std::uint64_t loads = 0;                             ///< lines that its tasks have touched
    time_ns blocked_ns = 0;                              ///< that it has waited for disks

    // ---- for the report of a deadlock: what the running task is about to wait for
    const char* waits_for_what = nullptr;
    const void* waits_for_which = nullptr;
};

} // namespace weft::engine
