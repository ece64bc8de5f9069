#include "lennard_jones.hpp"

#include "../common/example.hpp"

#include <map>
#include <string>

int main(int argc, char** argv) {
    std::size_t side = 6, parts = 0;
    examples::in_situ_settings s;
    examples::program program(
        "A Lennard-Jones liquid whose positions are analysed while the simulation goes on.",
        "lennard_jones --side 12 --steps 100 --every 1 --analysis yield");
    auto& options = program.options();
    options.add_option("--side", side, "cells of the crystal in each direction; a cell has 4 atoms")
        ->check(CLI::Range(2U, 200U))
        ->capture_default_str();
    options.add_option("--steps", s.steps, "time steps")
        ->check(CLI::Range(0U, 1000000U))
        ->capture_default_str();
    options.add_option("--every", s.every, "steps from one analysis to the next; 0: there is none")
        ->check(CLI::Range(0U, 1000000U))
        ->capture_default_str();
    options.add_option("--analysis-tasks", parts, "tasks of an analysis; 0: as many as workers")
        ->check(CLI::Range(0U, 65536U))
        ->capture_default_str();
    const std::map<std::string, weft::preemption> types = {
        {"off", weft::preemption::off}, {"yield", weft::preemption::yield}, {"klt", weft::preemption::klt}};
    options.add_option("--analysis", s.analysis, "the type of these tasks: off, yield, klt")
        ->transform(CLI::CheckedTransformer(types))
        ->default_str("yield");

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        s.regions = static_cast<std::size_t>(rt.workers());
        if (parts == 0) parts = s.regions;
        examples::lennard_jones liquid(side, program.seed()), serial(side, program.seed());
        examples::pair_distances analysis(liquid.count(), liquid.length(), parts), expected = analysis;
        const double before = liquid.energy();
        rt.run([&] { examples::simulate_with_analysis(liquid, analysis, s); });
        const auto stats = rt.stats();
        examples::simulate_serially(serial, expected, s);

        const bool same =
            liquid.now().position == serial.now().position && liquid.now().velocity == serial.now().velocity;
        const auto atoms = static_cast<double>(liquid.count());
        const double drift = std::fabs(liquid.energy() - before) / atoms;
        examples::report report;
        report.add("atoms", liquid.count());
        report.add("serial bits", same);
        report.add("energy drift", drift);
        report.add("pairs", analysis.pairs());
        report.add("same analysis", analysis.digest() == expected.digest());
        report.add_stats(stats);
        report.print(program.json());
        const std::uint64_t analyses = s.every == 0 ? 0 : s.steps / s.every;
        // An atom's energy is about -4; the forces end at 2.5, where they are not quite 0.
        return same && analysis.digest() == expected.digest() &&
               analysis.pairs() == analyses * liquid.count() * (liquid.count() - 1) / 2 && drift < 0.2;
    });
}
