// Programs beside each other on a modelled machine, and the experiments of
//
//   A. Collins, T. Harris, M. Cole, C. Fensch: LIRA: Adaptive Contention-Aware Thread Placement for Parallel Runtime
//   Systems. ROSS'15
//
// with pairs of them on one socket and on two (figures 2 and 3) and with random combinations of four (figures 7 to 9).
#pragma once

#include "kernels.hpp"

#include "../common/random.hpp"

#include <weft/programs.hpp>
#include <weft/weft.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
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
inline double geometric_mean(const std::vector<double>& of) {
    double sum = 0;
    for (const double x : of) sum += std::log(x);
    return std::exp(sum / static_cast<double>(of.size()));
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

    weft::together_stats run(const std::vector<std::string>& names, const weft::together_options& how) {
        std::vector<std::unique_ptr<weft::runtime>> on;
        std::vector<weft::together_program> programs;
        const bool is_free = how.scheduler == "os" && how.domains.empty();
        for (const std::string& name : names) {
            weft::runtime_options o = chosen_;
            o.engine = "model";
            o.costs = "declared";
            if (in_loops_) as_openmp(o, is_free, how, static_cast<int>(names.size()));
            if (!on.empty()) {
                o.beside = on.front().get();
                o.machine.clear();
            }
            on.push_back(std::make_unique<weft::runtime>(o));
            programs.push_back({on.back().get(), made(name, on.size())});
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
    /// The program with the data of the one at that place, which are made once.
    kernel made(const std::string& name, std::size_t place) {
        auto [at, is_new] = kernels_.try_emplace({name, place});
        const named_kernel& k = kernel_of(name);
        if (is_new) at->second = (in_loops_ ? k.loops : k.tasks)(chosen_.seed.value_or(1));
        return at->second;
    }
    /// Each loop has one share for each thread. libgomp gives share i to thread i; Callisto multiplexes the threads of a program
    /// over its cores, so that a share goes to the worker that asks first. Threads wait passively. There are as many threads as the
    /// machine has cores, also if the program has workers on one of two caches only, or on its own cores only; but as many as workers
    /// where the number of its cores is given (the pairs).
    static void as_openmp(weft::runtime_options& o, bool is_free, const weft::together_options& how,
                          int programs) {
        const int caches = how.scheduler.starts_with("lira") || !how.domains.empty() ? 2 : 1;
        const int sharing = how.lends ? 1 : std::max(1, programs / caches);
        const int threads_a_worker = how.most_cores > 0 ? 1 : caches * sharing;
        if (o.policy.empty())
            o.policy = is_free ? "static:outermost=first"
                               : "dynamic:pieces=" + std::to_string(threads_a_worker) + ",outermost=first";
        if (!o.spin) o.spin = std::chrono::microseconds(0);
    }

    weft::runtime_options chosen_;
    bool in_loops_;
    std::map<std::pair<std::string, std::size_t>, kernel> kernels_;
    std::map<std::string, double> alone_, rates_;
};

/// Pairs of programs, each with itself too: how they run on one last-level cache and on two, with at most `cores` cores each, of
/// which no other program runs on any.
struct pair_matrix {
    std::vector<std::string> names{};
    std::vector<double> rates{}; ///< of loads, of each program alone
    /// [program][beside]: its time on the cache that both share over that on a cache of its own.
    std::vector<std::vector<double>> increase{};
    struct pair {
        std::size_t a, b;
        double difference = 0; ///< of the rates
        double speedup = 0;    ///< mean of both: the time alone over that on the cache that both share
    };
    std::vector<pair> pairs{};

    pair_matrix(machine_of_programs& on, std::vector<std::string> of, int cores, int repeats)
        : names(std::move(of)) {
        std::vector<double> alone;
        for (const std::string& name : names) {
            const auto stats = on.run({name}, {.repeats = repeats, .domains = {0}, .most_cores = cores});
            rates.push_back(stats.rates.front());
            alone.push_back(mean(stats.seconds.front()));
        }
        increase.assign(names.size(), std::vector<double>(names.size()));
        for (std::size_t a = 0; a < names.size(); ++a)
            for (std::size_t b = a; b < names.size(); ++b) {
                const auto seconds = [&](std::vector<int> domains) {
                    const auto stats =
                        on.run({names[a], names[b]},
                               {.repeats = repeats, .domains = std::move(domains), .most_cores = cores});
                    return std::pair(mean(stats.seconds[0]), mean(stats.seconds[1]));
                };
                const auto [a_beside, b_beside] = seconds({0, 0});
                const auto [a_apart, b_apart] = seconds({0, 1});
                increase[b][a] = b_beside / b_apart;
                increase[a][b] = a == b ? (a_beside / a_apart + b_beside / b_apart) / 2 : a_beside / a_apart;
                pairs.push_back(
                    {a, b, std::abs(rates[a] - rates[b]), (alone[a] / a_beside + alone[b] / b_beside) / 2});
            }
        std::ranges::stable_sort(pairs, {}, &pair::difference);
    }

    std::vector<double> all_increases() const {
        std::vector<double> all;
        for (const auto& row : increase) all.insert(all.end(), row.begin(), row.end());
        std::ranges::sort(all);
        return all;
    }
    /// How many of the pairs, in the order of their differences, are the cluster of small ones: of all ways to divide them into two
    /// clusters the one with the least squares of distances from the clusters' means.
    std::size_t small_differences() const {
        const auto squares = [&](std::size_t first, std::size_t last) {
            double sum = 0, square = 0;
            for (std::size_t i = first; i < last; ++i) {
                sum += pairs[i].difference;
                square += pairs[i].difference * pairs[i].difference;
            }
            return square - sum * sum / static_cast<double>(last - first);
        };
        std::size_t best = 1;
        for (std::size_t n = 2; n < pairs.size(); ++n)
            if (squares(0, n) + squares(n, pairs.size()) < squares(0, best) + squares(best, pairs.size()))
                best = n;
        return best;
    }
    /// Of the pairs [first, last).
    std::vector<double> speedups(std::size_t first, std::size_t last) const {
        std::vector<double> all;
        for (std::size_t i = first; i < last; ++i) all.push_back(pairs[i].speedup);
        return all;
    }
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
    double worst_throughput = 0; ///< under best-static: of the worst placement
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
        return combination_result{names, {beside, alone}, stats.moves, 0};
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
    const auto [worst, first] = std::minmax_element(all.begin(), all.end(), worse);
    first->worst_throughput = worst->metrics.throughput;
    return best ? *first : *worst;
}

} // namespace examples
