#include "heat2d.hpp"

#include "../common/example.hpp"

#include <algorithm>

int main(int argc, char** argv) {
    std::size_t rows = 2048, cols = 1024, sweeps = 200, leaf_rows = 32;
    bool irregular = false;
    examples::program program("Heat on a plate: 5-point Jacobi by recursive division of the rows.",
                              "heat2d --rows 4096 --cols 4096 --sweeps 100 --policy near");
    auto& options = program.options();
    options.add_option("--rows", rows, "inner rows")->check(CLI::Range(1U, 1U << 20))->capture_default_str();
    options.add_option("--cols", cols, "inner columns")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--sweeps", sweeps, "iterations")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    options.add_option("--leaf-rows", leaf_rows, "rows of a strip that is not divided further")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_flag("--irregular", irregular, examples::irregular_help);

    return program.main(argc, argv, [&] {
        // A wave short enough to fade visibly within the default number of sweeps.
        examples::heat_mode mode{std::max<std::size_t>(1, rows / 32), std::max<std::size_t>(1, cols / 32)};
        examples::grid a(rows, cols), b(rows, cols);
        const auto tree = irregular ? examples::task_tree::irregular : examples::task_tree::regular;
        auto rt = program.make_runtime();
        rt.run([&] { examples::heat_start(a, b, mode, leaf_rows, tree); });
        rt.run([&] { examples::heat(a, b, sweeps, leaf_rows, tree); });
        auto stats = rt.stats();
        const examples::grid& result = sweeps % 2 == 0 ? a : b;

        examples::grid c(rows, cols), d(rows, cols);
        examples::heat_start(c, d, mode, rows);
        examples::heat_serial(c, d, sweeps);
        bool same = examples::same_values(result, sweeps % 2 == 0 ? c : d);
        double error = examples::heat_error(result, mode, sweeps);

        examples::report report;
        report.add("rows", rows);
        report.add("cols", cols);
        report.add("sweeps", sweeps);
        report.add("same as serial", same);
        report.add("largest error", error);
        report.add_stats(stats);
        report.print(program.json());
        return same && error < 1e-10;
    });
}
