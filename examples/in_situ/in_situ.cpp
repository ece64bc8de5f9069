#include "in_situ.hpp"

#include "../common/example.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace {

/// Steps of a generator of random numbers (xorshift64, G. Marsaglia, 2003), which no compiler can skip.
void compute(std::uint64_t steps) {
    std::uint64_t state = 1;
    for (std::uint64_t i = 0; i < steps; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        asm volatile("" : "+r"(state));
    }
}

} // namespace

int main(int argc, char** argv) {
    examples::course_settings s;
    std::uint64_t cycles = 250'000, computed = 0;
    std::size_t tasks = 0, analyses = 0;
    examples::program program(
        "The course of a simulation with analysis of its data, of parts whose lengths are given.",
        "in_situ --workers 2 --computed 40000 --policy insitu");
    auto& o = program.options();
    const auto count = [&](const char* name, auto& value, const char* what) {
        o.add_option(name, value, what)
            ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40))
            ->capture_default_str();
    };
    count("--steps", s.steps, "time steps");
    count("--every", s.every, "steps from one analysis to the next; 0: there is none");
    count("--sort-every", s.sort_every, "steps from one sorting of the atoms to the next; 0: there is none");
    count("--packs", s.packs, "regions of an exchange, in which the atoms at the borders are packed");
    count("--region-tasks", tasks, "tasks of a region; 0: as many as workers");
    count("--analysis-tasks", analyses, "tasks of an analysis; 0: one less than workers");
    count("--integrate", s.parts.integrate,
          "units of work of a task of this region, of which a step has two");
    count("--exchange", s.parts.exchange, "units of work of the main task in an exchange");
    count("--pack", s.parts.pack, "units of work of a task of such a region");
    count("--force", s.parts.force, "the same of the region of forces");
    count("--sort-alone", s.parts.sort_alone, "units of work of the main task when it sorts the atoms");
    count("--sort", s.parts.sort, "units of work of a task of that region");
    count("--copy-alone", s.parts.copy_alone, "units of work of the main task when it copies the positions");
    count("--copy", s.parts.copy, "units of work of a task of that region");
    count("--analyse", s.parts.analyse, "units of work of a task of an analysis");
    count("--cycles", cycles, "that a unit of work is said to cost, for modelled machines");
    count("--computed", computed, "steps of a generator of random numbers that a unit of work really takes");
    o.add_flag("--wait", s.waits, "the simulation waits for each analysis");
    const std::map<std::string, weft::preemption> types = {
        {"off", weft::preemption::off}, {"yield", weft::preemption::yield}, {"klt", weft::preemption::klt}};
    o.add_option("--analysis", s.type, "the type of the tasks of an analysis: off, yield, klt")
        ->transform(CLI::CheckedTransformer(types))
        ->default_str("yield");
    o.add_option("--simulation", s.type_of_region, "the type of the tasks of its regions")
        ->transform(CLI::CheckedTransformer(types))
        ->default_str("off");

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        const auto workers = static_cast<std::size_t>(rt.workers());
        s.regions = tasks ? tasks : workers;
        s.analyses = analyses ? analyses : workers > 1 ? workers - 1 : 1;
        const auto work = [=](std::uint64_t units) {
            weft::cost(units * cycles);
            compute(units * computed);
        };
        examples::in_situ_course course(s, work);
        rt.run([&] { course.run(); });

        examples::report report;
        report.add("units", course.done());
        report.add_stats(rt.stats());
        report.print(program.json());
        return course.done() == course.expected();
    });
}
