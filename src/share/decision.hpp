#pragma once

#include "share/placements.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Which program is placed on which domain: one pure function of a snapshot, for the daemon, for programs and for the model.
// A domain is the set of cores that share a last-level cache. Numbers are integers, so that all processes that compute the function of
// the same snapshot get the same answer.
namespace weft::share {

enum class scheduler : std::uint8_t { os, callisto, lira_static, lira_adaptive, best_static, worst_static };
inline constexpr std::string_view scheduler_names[] = {
    "os", "callisto", "lira-static", "lira-adaptive", "best-static", "worst-static"};
/// Throws weft::error for a name that is none.
scheduler scheduler_of(std::string_view name);

struct program_state {
    int id = 0;            ///< unique; lower ones come first where all else is equal
    std::int64_t rate = 0; ///< loads, or what replaces them, in a second; 0..most_rate; 0: none, or not known
    int load = 1000;       ///< of its high-priority threads, in thousandths; 1000: not known
    int domain = -1;       ///< where it is; -1: nowhere in particular
};

/// What was measured of a placement: the domains of the programs in ascending order of their ids, and its cost.
using measured_placement = std::pair<domains_of, double>;

struct snapshot {
    std::vector<int> domains{};            ///< number of cores of each
    std::vector<program_state> programs{}; ///< in any order
    std::uint64_t generation = 0;          ///< of the placement in force; 0: there is none
    std::int64_t now = 0, decided = 0;     ///< of the snapshot and of the placement in force: ns of one clock
};

struct decision_knobs {
    std::int64_t counter_period =
        227'000'000;      ///< ns that lira-adaptive leaves a placement: 0.5e9 cycles of 2.2 GHz
    int idle_below = 500; ///< load, in thousandths, below which a program is idle
    std::vector<measured_placement>
        costs{}; ///< for best-static and worst-static; empty: they go by the score
};

struct placed_program {
    int id = 0;
    int domain = -1;          ///< -1: the kernel chooses
    std::vector<int> cores{}; ///< that it may run on; cores are numbered from domain 0 on
    std::vector<int> high{};  ///< those of its high-priority workers; the main thread has the first
    int active = 0;           ///< workers that a program on Weft should use
    std::int64_t rate = 0;    ///< that was counted for it
    bool is_idle = false;
    std::string why{};
};

struct decision {
    std::uint64_t generation = 0; ///< the snapshot's, or the next one if a program is to move
    bool is_changed = false;
    std::string_view why{};                 ///< one of the words of docs/share-table.md
    std::string text{};                     ///< the same as a sentence
    std::int64_t score = 0;                 ///< of the answer
    bool is_exact = true;                   ///< the least spread of sums was found, not only approached
    std::vector<placed_program> programs{}; ///< in ascending order of ids
};

/// Throws weft::error for a snapshot that cannot be: unknown domains, equal ids, numbers out of range.
decision decide(const snapshot&, scheduler, const decision_knobs& = {});

/// The exponential moving average of rates. `weight`: of the new value, in thousandths. A negative `old`: there is none.
std::int64_t smoothed(std::int64_t old, std::int64_t value, int weight);

} // namespace weft::share
