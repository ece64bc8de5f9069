#include "sor.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t rows = 1024, cols = 1024, sweeps = 1000, leaf_rows = 16;
    bool irregular = false;
    examples::program program("Laplace's equation by red-black over-relaxation, in place.",
                              "sor --rows 200 --cols 200 --sweeps 1000 --policy near");
    auto& options = program.options();
    options.add_option("--rows", rows, "inner rows")->check(CLI::Range(1U, 1U << 20))->capture_default_str();
    options.add_option("--cols", cols, "inner columns")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--sweeps", sweeps, "iterations, each of the red and then of the black points")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    options.add_option("--leaf-rows", leaf_rows, "rows of a strip that is not divided further")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_flag("--irregular", irregular, examples::irregular_help);

    program.add_costs_only();

    return program.main(argc, argv, [&] {
        examples::grid plate(rows, cols), reference(rows, cols);
        const auto tree = irregular ? examples::task_tree::irregular : examples::task_tree::regular;
        auto rt = program.make_runtime();
        rt.run([&] {
            weft::initialisation();
            examples::sor_start(plate, leaf_rows, tree);
        });
        rt.run([&] { examples::sor(plate, sweeps, leaf_rows, tree); });
        auto stats = rt.stats();

        examples::report report;
        report.add("rows", rows);
        report.add("cols", cols);
        report.add("sweeps", sweeps);
        if (program.costs_only()) return report.print_costs(stats, program.json());

        examples::sor_start(reference, rows);
        examples::sor_serial(reference, sweeps);
        bool same = examples::same_values(plate, reference);
        double error = examples::sor_error(plate);
        report.add("same as serial", same);
        report.add("largest error", error);
        report.add_stats(stats);
        report.print(program.json());
        return same && (error < 1e-6 || !examples::sor_should_converge(plate, sweeps));
    });
}
