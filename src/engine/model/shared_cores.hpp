#pragma once

#include "engine/model/event_queue.hpp"
#include "task/task.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace weft::engine {

struct simulation;
struct model_engine;
struct model_worker;

/// Which worker has a core, if workers of several programs share it: in virtual time, what a fair scheduler of an operating
/// system does, with the times of weft::time_sharing. Each worker is on one core. The one with the least processor time so far is
/// next, after a slice of the other one. A transfer of data that has begun is not interrupted.
///
/// A core that is the first of a program is Callisto's: that program's worker there is of high priority. The others run while it is
/// asleep, from the time on when it has been so for the hysteresis. When it has been ready for as long again, the running one ends its
/// task and gives the core back. (T. Harris, M. Maas, V. J. Marathe, EuroSys'14. The paper stops the other one at once. With pieces of
/// loops that others wait for, that one may then never go on, so it ends the piece first.)
class shared_cores {
public:
    explicit shared_cores(simulation&);

    /// A core without a worker takes one that waits for another core, and a worker that wakes up goes to a free core. May be
    /// changed while no worker waits for a core.
    bool balances = true;

    // ---- what workers do
    /// An event resumes the worker. True if it has its core; else it resumes when it gets one.
    bool may_run(model_worker&) noexcept;
    /// The running worker has had its core for `d` when this returns.
    void use(model_worker&, time_ns d) noexcept;
    /// No other worker waits for the core of the running one, and nothing takes it away.
    bool has_alone(const model_worker&) const noexcept;
    /// The running worker is about to sleep.
    void leave(model_worker&) noexcept;

    /// The running worker is to give its core back as soon as it has ended its task.
    bool gives_way(const model_worker& w) const noexcept { return core_of(w).gives_way; }
    /// It does, and returns when it has a core again. Requires: gives_way(), it is in no task, and holds nothing that others wait for.
    void give_way(model_worker&) noexcept;

    // ---- what a scheduler of programs does
    void place(model_worker&, int core) noexcept; ///< from now on the worker is on that core
    /// From now on the core is the first one of that program; null: of none, and all workers are alike. After all workers are
    /// placed. Requires: no other worker of the program is on the core.
    void favour(int core, const model_engine*, time_ns hysteresis) noexcept;

private:
    struct one_core {
        model_worker* running = nullptr;
        std::vector<model_worker*> waiting{}; ///< in the order in which they came
        time_ns since = 0;                    ///< which the running one has had it
        time_ns least_time = 0; ///< processor time of the worker that has had least of it; only grows
        std::optional<event_queue::number> slice_ends{};
        bool must_yield = false; ///< the running worker gives it up as soon as it can be interrupted

        // ---- high priority
        const model_engine* first = nullptr; ///< whose worker has it; null: all are alike
        time_ns hysteresis = 0;
        bool is_lent = false;                       ///< workers of other programs run, and that one does not
        std::optional<event_queue::number> turns{}; ///< then it is lent, or to be given back
        bool gives_way = false; ///< the running worker gives it back as soon as it has ended its task

        shared_cores* of = nullptr;
    };

    one_core& core_of(const model_worker&) noexcept;
    const one_core& core_of(const model_worker&) const noexcept;
    void wait_for_core(model_worker&) noexcept; ///< it was asleep
    static void stop(model_worker&) noexcept;
    void add(one_core&, model_worker&) noexcept;
    void interrupt(
        one_core&) noexcept; ///< the running worker waits from now on, or as soon as it can be interrupted
    void take_away(one_core&) noexcept;
    void move(model_worker&, one_core& to) noexcept; ///< a worker that no core has or waits for
    void give(one_core&, model_worker&, bool is_switch) noexcept;
    void dispatch(one_core&, bool is_switch) noexcept;
    void review(one_core&) noexcept; ///< whether another worker is to run, now or after a slice
    time_ns slice_of(const one_core&) const noexcept;
    void slice_is_over(one_core&) noexcept;
    void count_time(one_core&) noexcept; ///< that the running worker has had
    model_worker* next_of(const one_core&) const noexcept;
    static bool is_first(const one_core&, const model_worker&) noexcept;
    /// Besides those of the priority that has the core now: one that was moved to it in the middle of a task, which others may wait for.
    static bool may_have(const one_core&, const model_worker&) noexcept;
    static bool first_waits(const one_core&) noexcept;
    void first_wakes(one_core&) noexcept;
    void schedule_turn(one_core&) noexcept;
    void cancel_turn(one_core&) noexcept;
    void turn(one_core&) noexcept;
    void give_back(one_core&) noexcept;
    one_core* free_core() noexcept;
    one_core& busiest_core() noexcept;
    static bool comes_before(const model_worker&, const model_worker&) noexcept;

    simulation& of_;
    const time_ns latency_, least_slice_, wakes_before_, switch_ns_;
    std::vector<one_core> cores_;
};

} // namespace weft::engine
