#pragma once

#include "engine/model/activity.hpp"
#include "engine/model/numa_memory.hpp"
#include "machine/figures.hpp"
#include "policy/seam/policy.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::engine {

/// Sums of what happened on a modelled machine since the engine was made or, as the difference of two
/// reports, during one run.
struct model_report {
    struct worker {
        std::array<time_ns, activities> spent{};
        std::uint64_t tasks = 0, steals = 0, exposures = 0, exchanges = 0, refused_exchanges = 0;
        numa_memory::worker_count memory{}; ///< of the core of the worker's rank
    };
    struct node {
        numa_memory::traffic bytes{};
        double bandwidth_gbps = 0; ///< infinite: unknown
    };

    struct disk {
        std::string name{};
        std::uint64_t bytes = 0;
        double bandwidth_gbps = 0;
    };

    std::string machine, policy;
    std::vector<figure> figures{}; ///< of the machine, with their sources
    std::string calibrated_on{};   ///< the day; empty: none of them was calibrated
    std::uint64_t seed = 0;
    time_ns began = 0, ended = 0;
    std::uint64_t events = 0;       ///< steps of virtual time
    bool measured = false;          ///< user code was timed: another run may differ
    std::string_view misses_from{}; ///< the source of the misses that the policy sees; empty: it did not ask
    std::string_view instructions_from{}; ///< likewise, of the instructions
    std::uint64_t invalidations = 0;
    bool changes_cores = false; ///< requirements::exchanges
    policy_choices choices{};   ///< what the policy has chosen so far, by place of the program
    bool shares_cores = false;  ///< there are other programs on the machine
    std::vector<worker> workers{};
    std::vector<node> nodes{};
    std::vector<disk> disks{};
    std::map<double, std::uint64_t> steals_by_distance{}; ///< machine::distance

    double seconds() const noexcept { return static_cast<double>(ended - began) * 1e-9; }
    time_ns total(activity) const noexcept; ///< of all workers
    time_ns user_time() const noexcept;     ///< of all workers, in user code

    model_report since(const model_report& earlier) const;

    std::string to_json() const;  ///< one object; docs/modelled-machines.md names the keys
    std::string to_table() const; ///< for people, several lines
};

} // namespace weft::engine
