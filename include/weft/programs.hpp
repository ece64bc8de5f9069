#pragma once

#include <weft/runtime.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace weft {

/// A program of run_together().
struct together_program {
    runtime* on =
        nullptr; ///< made on the same modelled machine as those of the others: runtime_options::beside
    std::function<void()> run{}; ///< called again and again, as in runtime::run()
};

/// How programs share a modelled machine: the schedulers of `weft cosched` in virtual time, docs/modelled-machines.md.
struct together_options {
    /// os: a fair scheduler gives all cores to the workers of all programs. callisto: each program has an equal share of the cores
    /// for itself. lira-static, lira-adaptive: programs are placed on last-level caches by their rates of loads, once by those that
    /// are given or again and again by those that are counted, and have equal shares of the cores there. best-static, worst-static:
    /// the placement with the best or the worst score of `rates`
    std::string scheduler = "os";
    int repeats = 1; ///< each program runs until every one has run so often; 1 or more
    std::chrono::nanoseconds period = std::chrono::milliseconds(100); ///< in which lira-adaptive decides
    /// In which it counts loads, and leaves a placement: 0.5e9 cycles of 2.2 GHz.
    std::chrono::nanoseconds counter_period = std::chrono::milliseconds(227);
    int rate_weight = 500; ///< of a newly counted rate in the average, in thousandths
    int idle_below = 500;  ///< load of an idle program, in thousandths
    std::vector<double>
        rates{}; ///< of each program, loads in a second, measured before; empty: they are counted
    std::vector<int>
        domains{}; ///< last-level cache of each program, to which it keeps; empty: the scheduler places them
    int most_cores =
        0; ///< that a program has as its own, of those that the scheduler gives it; 0: no limit. Not for os
    /// Programs have workers of low priority on the cores of the others, as under Callisto. Such a worker runs while the core's own
    /// one is asleep; a task that it has begun it ends first, so this is for programs with short tasks.
    bool lends = false;
    /// So long the core's own worker has been asleep before another one runs, and ready before it has the core again.
    std::chrono::nanoseconds hysteresis = std::chrono::milliseconds(10);
};

/// Of programs that ran beside each other. Times are virtual.
struct together_stats {
    std::vector<std::vector<double>>
        seconds{};               ///< of each program: the runs that ended while all programs ran
    std::vector<double> rates{}; ///< of each program: loads (lines of 64 bytes touched) in a second
    std::vector<int> domains{};  ///< of each program at the end; -1: all of them
    int moves = 0;               ///< of programs to another last-level cache
};

/// Runs programs beside each other on one modelled machine. All begin at the same virtual time; with the same programs, options
/// and seeds the same happens, bit for bit. Throws weft::error for runtimes that are not on one modelled machine, or are used
/// otherwise at the time, for options out of range, and for a program whose run takes no virtual time; or what a program has thrown
/// first, when all have ended.
///
///     weft::runtime a({.engine = "model", .machine = "xeon-e5-2660-2x8"});
///     weft::runtime b({.beside = &a});
///     const auto stats = weft::run_together({{&a, solve}, {&b, sort}}, {.scheduler = "lira-adaptive", .repeats = 9});
together_stats run_together(const std::vector<together_program>&, const together_options& = {});

} // namespace weft
