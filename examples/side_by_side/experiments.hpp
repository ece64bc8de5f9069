// Programs beside each other on a modelled machine, and the experiments of
//
//   A. Collins, T. Harris, M. Cole, C. Fensch: LIRA: Adaptive Contention-Aware Thread Placement for Parallel Runtime
//   Systems. ROSS'15
//
// with random combinations of them (figures 7 to 9).
#pragma once

#include "kernels.hpp"

#include "../common/random.hpp"

#include <weft/programs.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace examples {

inline double mean(const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}
/// Of an even number, the mean of the middle two.
inline double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

/// How much programs suffer from each other (S. Eyerman, L. Eeckhout, IEEE Micro 2008).
struct system_metrics {
    double turnaround = 0; ///< ANTT: mean of the time beside others over that alone; 1 at best
    double throughput = 0; ///< STP: sum of the inverse; the number of programs at best

    system_metrics(const std::vector<double>& beside, const std::vector<double>& alone) {
        for (std::size_t i = 0; i < beside.size(); ++i) {
            turnaround += beside[i] / alone[i] / static_cast<double>(beside.size());
            throughput += alone[i] / beside[i];
        }
    }
};

/// A set of programs on a new machine, as one of loops or of tasks.
class machine_of_programs {
public:
    machine_of_programs(weft::runtime_options of_all, bool in_loops)
        : chosen_(std::move(of_all))
        , in_loops_(in_loops) {}

    weft::together_stats run(const std::vector<std::string>& names, const weft::together_options& how) const {
        std::vector<std::unique_ptr<weft::runtime>> on;
        std::vector<weft::together_program> programs;
        const bool is_free = how.scheduler == "os" && how.domains.empty();
        for (const std::string& name : names) {
            weft::runtime_options o = chosen_;
            o.engine = "model";
            o.costs = "declared";
            if (in_loops_) as_openmp(o, is_free);
            if (!on.empty()) {
                o.beside = on.front().get();
                o.machine.clear();
            }
            on.push_back(std::make_unique<weft::runtime>(o));
            const named_kernel& k = kernel_of(name);
            programs.push_back(
                {on.back().get(), (in_loops_ ? k.loops : k.tasks)(o.seed.value_or(1) + on.size())});
        }
        return weft::run_together(programs, how);
    }

    /// Mean time alone on the whole machine, under the operating system, whatever the scheduler beside others.
    double alone(const std::string& name, int repeats) {
        auto [at, is_new] = alone_.try_emplace(name);
        if (is_new) at->second = mean(run({name}, {.repeats = repeats}).seconds.front());
        return at->second;
    }
    /// Loads in a second, alone on one last-level cache: what lira-static knows of a program.
    double profile(const std::string& name, int repeats) {
        auto [at, is_new] = rates_.try_emplace(name);
        if (is_new)
            at->second =
                run({name}, {.scheduler = "lira-static", .repeats = repeats, .domains = {0}}).rates.front();
        return at->second;
    }

    static const named_kernel& kernel_of(const std::string& name) {
        const auto& all = all_kernels();
        const auto found = std::ranges::find(all, name, &named_kernel::name);
        if (found != all.end()) return *found;
        std::string names;
        for (const named_kernel& k : all) names += (names.empty() ? "" : ", ") + k.name;
        throw weft::error("there is no such program", name, names);
    }

private:
    /// Each loop has one share for each thread. libgomp gives share i to thread i; Callisto multiplexes the threads of a program
    /// over its cores, so that a share goes to the worker that asks first. Threads wait passively.
    static void as_openmp(weft::runtime_options& o, bool is_free) {
        if (o.policy.empty())
            o.policy = is_free ? "static:outermost=first" : "dynamic:pieces=1,outermost=first";
        if (!o.spin) o.spin = std::chrono::microseconds(0);
    }

    weft::runtime_options chosen_;
    bool in_loops_;
    std::map<std::string, double> alone_, rates_;
};

/// `count` different sets of four programs.
inline std::vector<std::vector<std::string>> combinations(std::size_t count, std::uint64_t seed) {
    std::vector<std::vector<std::string>> all;
    for (std::uint64_t draw = 0; all.size() < count; ++draw) {
        std::vector<std::string> names;
        for (const named_kernel& k : all_kernels()) names.push_back(k.name);
        for (std::size_t i = 0; i < 4; ++i)
            std::swap(names[i], names[i + random_at(seed, 4 * draw + i) % (names.size() - i)]);
        names.resize(4);
        std::vector<std::string> sorted = names;
        std::sort(sorted.begin(), sorted.end());
        const bool is_new = std::ranges::none_of(all, [&](std::vector<std::string> known) {
            std::sort(known.begin(), known.end());
            return known == sorted;
        });
        if (is_new) all.push_back(std::move(names));
    }
    return all;
}

struct combination_result {
    std::vector<std::string> names;
    system_metrics metrics;
    int moves = 0;
};

/// Four programs under a scheduler. best-static and worst-static: of all placements on two caches, measured, the one with the best or
/// the worst throughput.
inline combination_result run_combination(machine_of_programs& on, const std::vector<std::string>& names,
                                          weft::together_options how) {
    std::vector<double> alone;
    for (const std::string& name : names) alone.push_back(on.alone(name, how.repeats));
    const auto measured = [&](const weft::together_options& with) {
        const auto stats = on.run(names, with);
        std::vector<double> beside;
        for (const auto& seconds : stats.seconds) beside.push_back(mean(seconds));
        return combination_result{names, {beside, alone}, stats.moves};
    };
    const bool best = how.scheduler == "best-static";
    if (!best && how.scheduler != "worst-static") {
        if (how.scheduler == "lira-static")
            for (const std::string& name : names) how.rates.push_back(on.profile(name, how.repeats));
        return measured(how);
    }
    std::vector<combination_result> all;
    for (const std::vector<int>& domains : {std::vector{0, 0, 1, 1}, {0, 1, 0, 1}, {0, 1, 1, 0}}) {
        how.domains = domains;
        all.push_back(measured(how));
    }
    const auto worse = [](const combination_result& a, const combination_result& b) {
        return a.metrics.throughput < b.metrics.throughput;
    };
    return best ? *std::max_element(all.begin(), all.end(), worse)
                : *std::min_element(all.begin(), all.end(), worse);
}

} // namespace examples
