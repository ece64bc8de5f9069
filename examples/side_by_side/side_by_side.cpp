#include "kernels.hpp"

#include "../common/example.hpp"

#include <weft/programs.hpp>

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace {

using examples::named_kernel;

struct settings {
    std::vector<std::string> names{"heat", "n_body"};
    weft::together_options how{};
    double period_ms = 100, counter_period_ms = 227;
    bool alone = false;
};

const named_kernel& kernel_of(const std::string& name) {
    const auto& all = examples::all_kernels();
    const auto found = std::ranges::find(all, name, &named_kernel::name);
    if (found == all.end()) {
        std::vector<std::string> names;
        for (const named_kernel& k : all) names.push_back(k.name);
        throw examples::usage_error(
            fmt::format("there is no program '{}'; there are {}", name, fmt::join(names, ", ")));
    }
    return *found;
}

double mean(const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

/// Runs them on a new machine.
weft::together_stats run(const weft::runtime_options& chosen, const std::vector<std::string>& names,
                         const weft::together_options& how) {
    std::vector<std::unique_ptr<weft::runtime>> on;
    std::vector<weft::together_program> programs;
    for (const std::string& name : names) {
        weft::runtime_options o = chosen;
        o.engine = "model";
        o.costs = "declared";
        if (!on.empty()) {
            o.beside = on.front().get();
            o.machine.clear();
        }
        on.push_back(std::make_unique<weft::runtime>(o));
        programs.push_back({on.back().get(), kernel_of(name).make(o.seed.value_or(1) + on.size())});
    }
    return weft::run_together(programs, how);
}

void print(const settings& s, const weft::together_stats& stats, const std::vector<double>& alone,
           bool json) {
    double turnaround = 0, throughput = 0;
    std::string rows;
    for (std::size_t i = 0; i < s.names.size(); ++i) {
        const double beside = mean(stats.seconds[i]);
        if (s.alone) {
            turnaround += beside / alone[i] / static_cast<double>(s.names.size());
            throughput += alone[i] / beside;
        }
        if (json)
            rows +=
                fmt::format(R"({}{{"program": {}, "seconds": {}, "alone": {}, "rate": {}, "domain": {}}})",
                            i ? ", " : "", examples::json_string(s.names[i]), stats.seconds[i],
                            s.alone ? fmt::format("{}", alone[i]) : "null", stats.rates[i], stats.domains[i]);
        else
            rows += fmt::format(
                "{:<12} {:>4} runs {:>12.6f} s{}  {:>8.1f} million lines/s  {}\n", s.names[i],
                stats.seconds[i].size(), beside,
                s.alone ? fmt::format(", {:.3f} of {:.6f} alone", beside / alone[i], alone[i]) : "",
                stats.rates[i] * 1e-6,
                stats.domains[i] < 0 ? "on all cores" : fmt::format("on cache {}", stats.domains[i]));
    }
    if (json)
        fmt::print(R"({{"scheduler": {}, "programs": [{}], "moves": {}, "antt": {}, "stp": {}}})"
                   "\n",
                   examples::json_string(s.how.scheduler), rows, stats.moves,
                   s.alone ? fmt::format("{}", turnaround) : "null",
                   s.alone ? fmt::format("{}", throughput) : "null");
    else
        fmt::print("{}{}", rows,
                   s.alone ? fmt::format("ANTT {:.4f} (1 at best), STP {:.4f} ({} at best), {} moves\n",
                                         turnaround, throughput, s.names.size(), stats.moves)
                           : "");
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
    options.add_option("--machine", machine, "a modelled machine, as in WEFT_MACHINE")->capture_default_str();
    options
        .add_option("--scheduler", s.how.scheduler,
                    "os, callisto, lira-static, lira-adaptive, best-static, worst-static")
        ->capture_default_str();
    options.add_option("--repeats", s.how.repeats, "each program runs until every one has run so often")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    options.add_option("--period", s.period_ms, "ms in which lira-adaptive decides")->capture_default_str();
    options.add_option("--counter-period", s.counter_period_ms, "ms in which loads are counted")
        ->capture_default_str();
    options.add_option("--rates", s.how.rates, "loads in a second, of each program")->delimiter(',');
    options.add_option("--domains", s.how.domains, "the last-level cache of each program")->delimiter(',');
    options.add_flag("--alone", s.alone,
                     "run each program alone, too, and print how much they suffer: ANTT and STP");
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        if (list) {
            for (const named_kernel& k : examples::all_kernels()) fmt::print("{:<12} {}\n", k.name, k.what);
            return true;
        }
        weft::runtime_options chosen = program.runtime_options();
        chosen.machine = machine;
        const auto ns = [](double ms) { return std::chrono::nanoseconds(std::llround(ms * 1e6)); };
        s.how.period = ns(s.period_ms);
        s.how.counter_period = ns(s.counter_period_ms);
        for (const std::string& name : s.names) kernel_of(name);
        try {
            std::vector<double> alone;
            for (const std::string& name : s.names)
                if (s.alone)
                    alone.push_back(mean(run(chosen, {name}, {.repeats = s.how.repeats}).seconds.front()));
            print(s, run(chosen, s.names, s.how), alone, program.json());
        } catch (const weft::error& e) { throw examples::usage_error(e.what()); }
        return true;
    });
}
