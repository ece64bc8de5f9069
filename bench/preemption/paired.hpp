// Variants of one computation that are compared within one process: each round runs all of them, in an order that changes
// from round to round, so a disturbance of the machine hits them alike. A round gives one ratio for each variant.
#pragma once

#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct variant {
    std::string name;
    std::function<void()> run;
};

struct run_time {
    double wall_ns = 0, cpu_ns = 0;
};

/// The times of `rounds` rounds, by round and variant. One round more comes first and does not count.
inline std::vector<std::vector<run_time>> paired_times(const std::vector<variant>& variants, int rounds) {
    std::vector<std::vector<run_time>> all;
    for (int r = -1; r < rounds; ++r) {
        std::vector<run_time> round(variants.size());
        for (std::size_t k = 0; k < variants.size(); ++k) {
            const std::size_t v = (k + static_cast<std::size_t>(r + 1)) % variants.size();
            const auto cpu = cpu_ns();
            round[v].wall_ns = time_ns(variants[v].run);
            round[v].cpu_ns = static_cast<double>(cpu_ns() - cpu);
        }
        if (r >= 0) all.push_back(round);
    }
    return all;
}

/// For each variant but the first one, by how many per cent it takes longer than the first one: NAME by the clock, NAME_cpu
/// by the processor time of the process, which does not count what others had of the cores.
inline void add_slowdowns(sample& s, const std::vector<variant>& variants,
                          const std::vector<std::vector<run_time>>& rounds) {
    for (std::size_t v = 1; v < variants.size(); ++v) {
        std::vector<double> wall, cpu;
        for (const auto& round : rounds) {
            wall.push_back(100 * (round[v].wall_ns / round[0].wall_ns - 1));
            cpu.push_back(100 * (round[v].cpu_ns / round[0].cpu_ns - 1));
        }
        s.add(variants[v].name, wall);
        s.add(variants[v].name + "_cpu", cpu);
    }
}

} // namespace bench
