#include "experiments.hpp"

#include "../common/example.hpp"

#include <weft/programs.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using examples::mean;

struct settings {
    std::vector<std::string> names{"heat", "n_body"};
    weft::together_options how{.lends = true};
    double period_ms = 100, counter_period_ms = 227, hysteresis_ms = 10;
    std::string form = "loops", disk;
    bool alone = false, pairs = false;
    std::size_t combinations = 0;
    std::uint64_t draw = 1;
};

void print(const settings& s, const weft::together_stats& stats, const std::vector<double>& alone,
           bool json) {
    std::vector<double> beside;
    for (const auto& seconds : stats.seconds) beside.push_back(mean(seconds));
    const examples::system_metrics metrics(beside, s.alone ? alone : beside);
    std::string rows;
    for (std::size_t i = 0; i < s.names.size(); ++i) {
        if (json)
            rows +=
                fmt::format(R"({}{{"program": {}, "seconds": {}, "alone": {}, "rate": {}, "domain": {}}})",
                            i ? ", " : "", examples::json_string(s.names[i]), stats.seconds[i],
                            s.alone ? fmt::format("{}", alone[i]) : "null", stats.rates[i], stats.domains[i]);
        else
            rows += fmt::format(
                "{:<12} {:>4} runs {:>12.6f} s{}  {:>8.1f} million lines/s  {}\n", s.names[i],
                stats.seconds[i].size(), beside[i],
                s.alone ? fmt::format(", {:.3f} of {:.6f} alone", beside[i] / alone[i], alone[i]) : "",
                stats.rates[i] * 1e-6,
                stats.domains[i] < 0 ? "on all cores" : fmt::format("on cache {}", stats.domains[i]));
    }
    if (json)
        fmt::print(R"({{"scheduler": {}, "programs": [{}], "moves": {}, "antt": {}, "stp": {}}})"
                   "\n",
                   examples::json_string(s.how.scheduler), rows, stats.moves,
                   s.alone ? fmt::format("{}", metrics.turnaround) : "null",
                   s.alone ? fmt::format("{}", metrics.throughput) : "null");
    else
        fmt::print("{}{}", rows,
                   s.alone ? fmt::format("ANTT {:.4f} (1 at best), STP {:.4f} ({} at best), {} moves\n",
                                         metrics.turnaround, metrics.throughput, s.names.size(), stats.moves)
                           : "");
}

void run_programs(const settings& s, examples::machine_of_programs& on, bool json) {
    std::vector<double> alone;
    for (const std::string& name : s.names)
        if (s.alone) alone.push_back(on.alone(name, s.how.repeats));
    weft::together_options how = s.how;
    if (how.scheduler == "lira-static" && how.rates.empty() && how.domains.empty())
        for (const std::string& name : s.names) how.rates.push_back(on.profile(name, how.repeats));
    print(s, on.run(s.names, how), alone, json);
}

/// The middle and the ends of one figure of all combinations.
std::string spread(const char* name, const std::vector<double>& of) {
    const auto [least, most] = std::minmax_element(of.begin(), of.end());
    return fmt::format(
        R"("{0}": {1}, "{0}_median": {2}, "{0}_least": {3}, "{0}_most": {4}, "{0}_range": {5})", name, of,
        examples::median(of), *least, *most, *most - *least);
}

void run_combinations(const settings& s, examples::machine_of_programs& on, bool json) {
    std::vector<std::string> names; // of each combination, as JSON
    std::vector<double> turnaround, throughput, of_worst;
    int moves = 0;
    for (const auto& each : examples::combinations(s.combinations, s.draw)) {
        const auto result = examples::run_combination(on, each, s.how);
        std::vector<std::string> quoted;
        for (const std::string& name : each) quoted.push_back(examples::json_string(name));
        names.push_back(fmt::format("[{}]", fmt::join(quoted, ", ")));
        turnaround.push_back(result.metrics.turnaround);
        throughput.push_back(result.metrics.throughput);
        moves += result.moves;
        if (result.worst_throughput > 0)
            of_worst.push_back(result.metrics.throughput / result.worst_throughput);
        if (!json)
            fmt::print("{:<48} ANTT {:.4f}, STP {:.4f}\n", fmt::format("{}", fmt::join(each, " ")),
                       turnaround.back(), throughput.back());
    }
    if (json)
        fmt::print(R"({{"scheduler": {}, "combinations": [{}], "moves": {}, "best_over_worst": {}, {}, {}}})"
                   "\n",
                   examples::json_string(s.how.scheduler), fmt::join(names, ", "), moves, of_worst,
                   spread("antt", turnaround), spread("stp", throughput));
    else
        fmt::print("mean: ANTT {:.4f}, STP {:.4f}; {} moves\n", mean(turnaround), mean(throughput), moves);
}

void run_pairs(const settings& s, examples::machine_of_programs& on, bool json) {
    const examples::pair_matrix m(on, s.names, s.how.most_cores > 0 ? s.how.most_cores : 4, s.how.repeats);
    const auto all = m.all_increases();
    const std::vector<double> larger(all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    const auto slowed = std::ranges::count_if(all, [](double x) { return x >= 1.1; });
    const std::size_t split = m.small_differences();
    const auto small = m.speedups(0, split), large = m.speedups(split, m.pairs.size());
    if (!json) {
        fmt::print("{:<12}", "beside");
        for (const std::string& name : m.names) fmt::print(" {:>5.5}", name);
        for (std::size_t i = 0; i < m.names.size(); ++i) {
            fmt::print("\n{:<12}", m.names[i]);
            for (const double x : m.increase[i]) fmt::print(" {:5.2f}", x);
            fmt::print("  {:>8.1f} million lines/s", m.rates[i] * 1e-6);
        }
        fmt::print("\nmean of the larger half {:.3f}, {:.2f} of all 1.1 or more\n"
                   "against alone: rates differ little (up to {:.1f} million lines/s) {:.3f}, much {:.3f}\n",
                   mean(larger), static_cast<double>(slowed) / static_cast<double>(all.size()),
                   m.pairs[split - 1].difference * 1e-6, examples::geometric_mean(small),
                   examples::geometric_mean(large));
        return;
    }
    std::string of_programs;
    for (std::size_t i = 0; i < m.names.size(); ++i) {
        std::vector<double> others;
        for (std::size_t k = 0; k < m.names.size(); ++k)
            if (k != i) others.push_back(m.increase[k][i]);
        of_programs += fmt::format(R"("increase_of_{0}": {1}, "increase_by_{0}": {2}, )", m.names[i],
                                   m.increase[i], others);
    }
    fmt::print(
        R"({{"programs": {}, "rates": {}, "increase": {}, "increase_of_larger_half": {}, "part_slowed": {}, {})"
        R"("small_speedup": {}, "small_geomean": {}, "large_speedup": {}, "large_geomean": {}}})"
        "\n",
        m.names, m.rates, all, larger, static_cast<double>(slowed) / static_cast<double>(all.size()),
        of_programs, small, examples::geometric_mean(small), large, examples::geometric_mean(large));
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    std::string machine = "xeon-e5-2660-2x8";
    bool list = false;
    examples::program program(
        "Programs side by side on one modelled machine, placed by a scheduler of programs.",
        "side_by_side --programs heat,sor,n_body,spin --scheduler lira-adaptive --repeats 9 --alone");
    auto& options = program.options();
    options.add_option("--programs", s.names, "names, with commas between them")
        ->delimiter(',')
        ->capture_default_str();
    options.add_flag("--list", list, "print the names of all programs");
    options.add_option("--machine", machine, "a modelled machine; default: WEFT_MACHINE, or this one")
        ->capture_default_str();
    options
        .add_option("--scheduler", s.how.scheduler,
                    "os, callisto, lira-static, lira-adaptive, best-static, worst-static")
        ->capture_default_str();
    options
        .add_option(
            "--form", s.form,
            "loops: as OpenMP programs with schedule(static) and passive waiting; tasks: forks and graphs")
        ->check(CLI::IsMember({"loops", "tasks"}))
        ->capture_default_str();
    options.add_option("--repeats", s.how.repeats, "each program runs until every one has run so often")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.add_option("--period", s.period_ms, "ms in which lira-adaptive decides")->capture_default_str();
    options.add_option("--counter-period", s.counter_period_ms, "ms in which loads are counted")
        ->capture_default_str();
    options.add_option("--rates", s.how.rates, "loads in a second, of each program")->delimiter(',');
    options.add_option("--domains", s.how.domains, "the last-level cache of each program")->delimiter(',');
    options
        .add_option(
            "--lends", s.how.lends,
            "programs have threads of low priority on each other's cores (default: as loops, they have)")
        ->default_str("true");
    options
        .add_option("--hysteresis", s.hysteresis_ms,
                    "ms before a core goes to a thread of low priority, and back")
        ->capture_default_str();
    options.add_option("--disk", s.disk,
                       "the disk of the machine from which programs on graphs load theirs, as loops");
    options.add_flag("--alone", s.alone,
                     "run each program alone, too, and print how much they suffer: ANTT and STP");
    options
        .add_option("--combinations", s.combinations,
                    "run so many random combinations of four programs, each alone, too")
        ->check(CLI::Range(1, 3060));
    options.add_flag("--pairs", s.pairs,
                     "run every pair on one last-level cache and on two: of --programs, else of all");
    options
        .add_option(
            "--cores", s.how.most_cores,
            "the cores that a program has at most as its own; default: all that it is given, 4 with --pairs")
        ->check(CLI::Range(1, 1024));
    options.add_option("--draw", s.draw, "the seed of those combinations")->capture_default_str();
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        if (list) {
            for (const auto& k : examples::all_kernels()) fmt::print("{:<12} {}\n", k.name, k.what);
            return true;
        }
        weft::runtime_options chosen = program.runtime_options();
        const char* const set = std::getenv("WEFT_MACHINE");
        chosen.machine = set != nullptr && options.count("--machine") == 0 ? set : machine;
        examples::machine_of_programs on(chosen, s.form == "loops");
        if (s.form == "tasks" && options.count("--lends") == 0) s.how.lends = false;
        const auto ns = [](double ms) { return std::chrono::nanoseconds(std::llround(ms * 1e6)); };
        s.how.period = ns(s.period_ms);
        s.how.counter_period = ns(s.counter_period_ms);
        s.how.hysteresis = ns(s.hysteresis_ms);
        examples::graph_disk = s.disk;
        if (s.pairs && options.count("--programs") == 0) {
            s.names.clear();
            for (const auto& k : examples::all_kernels()) s.names.push_back(k.name);
        }
        try {
            for (const std::string& name : s.names) examples::machine_of_programs::kernel_of(name);
            if (s.pairs) {
                if (s.names.size() < 2) throw examples::usage_error("pairs of less than two programs");
                run_pairs(s, on, program.json());
            } else if (s.combinations > 0) {
                run_combinations(s, on, program.json());
            } else {
                run_programs(s, on, program.json());
            }
        } catch (const weft::error& e) { throw examples::usage_error(e.what()); }
        return true;
    });
}
