#include "gaussian.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 1024, pivots = 0, leaf_rows = 8;
    bool irregular = false;
    examples::program program("Gaussian elimination, row by row below each pivot.",
                              "gaussian --n 2048 --pivots 200 --policy near");
    auto& options = program.options();
    options.add_option("--n", n, "equations")->check(CLI::Range(1U, 16384U))->capture_default_str();
    options.add_option("--pivots", pivots, "columns to be eliminated, 0: all")
        ->check(CLI::Range(0U, 16384U))
        ->capture_default_str();
    options.add_option("--leaf-rows", leaf_rows, "rows that are not divided further")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();
    options.add_flag("--irregular", irregular, examples::irregular_help);

    program.add_costs_only();

    return program.main(argc, argv, [&] {
        const std::size_t all = n - 1, eliminated = pivots == 0 ? all : pivots;
        if (eliminated > all) throw examples::usage_error("--pivots: fewer than equations are allowed");
        const auto tree = irregular ? examples::task_tree::irregular : examples::task_tree::regular;
        examples::equations system(n), reference(n);
        auto rt = program.make_runtime();
        rt.run([&] {
            weft::initialisation();
            examples::gaussian_start(system, program.seed(), leaf_rows, tree);
        });
        rt.run([&] { examples::gaussian(system, eliminated, leaf_rows, tree); });
        const auto stats = rt.stats();

        examples::report report;
        report.add("n", n);
        report.add("pivots", eliminated);
        if (program.costs_only()) return report.print_costs(stats, program.json());

        examples::gaussian_start(reference, program.seed(), n);
        examples::gaussian_serial(reference, eliminated);
        const bool same = examples::same_values(system, reference);
        report.add("same as serial", same);
        bool solved = true;
        if (eliminated == all) {
            const double error = examples::gaussian_error(system);
            report.add("largest error", error);
            solved = error < 1e-10;
        }
        report.add_stats(stats);
        report.print(program.json());
        return same && solved;
    });
}
