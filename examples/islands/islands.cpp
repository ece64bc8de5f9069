#include "islands.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t islands = 128, population = 40, of_each_size = 0;
    int ages = 10, generations = 20;
    examples::program program("A genetic algorithm on islands that send each other their best.",
                              "islands --islands 128 --of-each-size 20 --ages 50");
    auto& options = program.options();
    options.add_option("--islands", islands, "how many")
        ->check(CLI::Range(1U, 100000U))
        ->capture_default_str();
    options.add_option("--population", population, "of the smallest islands")
        ->check(CLI::Range(2U, 100000U))
        ->capture_default_str();
    options.add_option("--of-each-size", of_each_size, "islands of 27, of 9 and of 3 times that population")
        ->check(CLI::Range(0U, 100000U))
        ->capture_default_str();
    options.add_option("--ages", ages, "times of breeding, each of which ends with a migration")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();
    options.add_option("--generations", generations, "of an age")
        ->check(CLI::Range(1, 1 << 20))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        if (3 * of_each_size > islands) {
            throw examples::usage_error("--of-each-size: at most a third of the islands");
        }
        examples::archipelago all(islands, population, of_each_size, program.seed()), reference = all;
        const double before = all.best().value;
        auto rt = program.make_runtime();
        rt.run([&] { all.evolve(ages, generations); });

        reference.evolve_serially(ages, generations);
        const bool same = examples::same_values(all, reference);
        const examples::individual& best = all.best();
        const bool valued = best.value == examples::rastrigin(best.gene);

        examples::report report;
        report.add("islands", islands);
        report.add("ages", ages);
        report.add("same as serial", same);
        report.add("least before", before);
        report.add("least", best.value);
        report.add_stats(rt.stats());
        report.print(program.json());
        return same && valued && best.value >= 0 && best.value < before;
    });
}
