#pragma once

#include "share/decision.hpp"
#include "task/task.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::engine {

struct simulation;
struct model_engine;

struct placing_options {
    share::scheduler scheduler = share::scheduler::lira_adaptive;
    time_ns period = 100'000'000;         ///< in which a decision is made (LIRA: 0.1 s)
    time_ns counter_period = 227'000'000; ///< in which rates are counted, and that a placement stays at least
    int weight = 500;                     ///< of a new rate in the average, in thousandths
    int idle_below = 500;                 ///< load of an idle program, in thousandths
    /// The rate of each program, measured before: for lira-static. Empty: they are measured.
    std::vector<std::int64_t> rates{};
    std::vector<int> fixed{}; ///< the domain of each program, and no other one; empty: the scheduler decides
    int most_cores = 0;       ///< that a program has as its own; 0: no limit
    bool lends = false;       ///< programs have workers of low priority on each other's cores
    time_ns hysteresis = 10'000'000; ///< of those: shared_cores (Callisto: "around 10 ms")
};

/// `weft cosched` in virtual time: places the programs of a simulation on the last-level caches of its machine, by the same
/// decision (share/decision.hpp). A program has a worker on each core that is its own. On the cores of others it has none, as a program
/// on Weft under the daemon; or, if programs lend, workers of low priority, as Callisto's programs have.
class program_placer {
public:
    /// Places the programs at once. Requires: nothing is left to happen, as in simulation::when_quiet(). Throws weft::error
    /// for options that do not fit the machine and the programs.
    program_placer(simulation&, placing_options);
    program_placer(const program_placer&) = delete;
    program_placer& operator=(const program_placer&) = delete;
    /// Requires the same.
    ~program_placer();

    void roots_came(); ///< the simulation calls it when tasks of other threads have come
    int moves() const noexcept { return moves_; } ///< of programs, after the first placement
    std::vector<int> domains() const;             ///< of the programs; -1: all

private:
    struct program {
        model_engine* engine;
        std::int64_t rate = -1;  ///< smoothed loads in a second; negative: not counted yet
        std::uint64_t loads = 0; ///< as counted last
        time_ns ran = 0;         ///< time in which those workers were ready to run, as counted last
        int load = 1000;         ///< of those workers
        int domain = -1;
        int own =
            0; ///< workers that have a core of the program, from rank 0 on; the others are of low priority
    };

    time_ns ready_time(const program&) const; ///< of those workers, since they were made
    void count();
    /// The kernel places all threads.
    bool is_free() const noexcept {
        return options_.scheduler == share::scheduler::os && options_.fixed.empty();
    }
    void free_all();
    void place_fixed();
    void decide();
    void apply(program&, const share::placed_program&);
    void set_active(const program&, int workers);
    [[noreturn]] void refuse_policy(const program&, std::string_view cores) const;
    void favour_first();
    void tick();
    void schedule_tick();

    simulation& of_;
    const placing_options options_;
    std::vector<program> programs_;
    std::vector<int> domains_; ///< cores of each
    std::vector<int> cores_;   ///< ranks of the machine's cores, domain after domain
    std::uint64_t generation_ = 0;
    time_ns decided_ = 0, counted_ = 0;
    int moves_ = 0;
    bool is_first_ = true, ticks_ = false;
};

} // namespace weft::engine
