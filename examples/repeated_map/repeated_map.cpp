#include "repeated_map.hpp"

#include "../common/example.hpp"
#include "../common/random.hpp"

#include <memory>

int main(int argc, char** argv) {
    std::size_t n = 8 << 20;
    int repetitions = 3;
    examples::program program(
        "Recursive repeated map: three maps of an array, then of its halves, and so on.",
        "repeated_map --n 134217728 --policy near");
    program.options().add_option("--n", n, "numbers")->check(CLI::Range(1U, 1U << 30))->capture_default_str();
    // A number of the array doubles 60 times a repetition at most.
    program.options()
        .add_option("--repetitions", repetitions, "of the whole")
        ->check(CLI::Range(1, 15))
        ->capture_default_str();
    program.add_costs_only();

    return program.main(argc, argv, [&] {
        const auto start = [&](std::size_t i) {
            return examples::random_from_minus_1_to_1(program.seed(), i);
        };
        const auto numbers = std::make_unique_for_overwrite<double[]>(n);
        const std::size_t bytes = n * sizeof(double);
        auto rt = program.make_runtime();
        rt.run([&] {
            weft::interleave(numbers.get(), bytes);
            if (program.costs_only()) return;
            for (std::size_t i = 0; i < n; ++i) numbers[i] = start(i);
        });
        rt.run([&] {
            for (int k = 0; k < repetitions; ++k) {
                weft::iteration(k);
                examples::repeated_map(numbers.get(), n);
            }
        });

        examples::report report;
        report.add("n", n);
        report.add("bytes", bytes);
        if (program.costs_only()) return report.print_costs(rt.stats(), program.json());

        bool right = true;
        for (std::size_t i = 0; i < n; ++i) {
            right = right && numbers[i] == examples::repeated_map_result(start(i), i, n, repetitions);
        }
        report.add("as computed", right);
        report.add_stats(rt.stats());
        report.print(program.json());
        return right;
    });
}
