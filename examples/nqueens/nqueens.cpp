#include "nqueens.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    unsigned n = 14;
    int task_rows = 5;
    examples::program program("Counts the solutions of the n queens problem.",
                              "nqueens --n 15 --task-rows 4");
    program.options().add_option("--n", n, "queens")->check(CLI::Range(1U, 16U))->capture_default_str();
    program.options()
        .add_option("--task-rows", task_rows, "rows whose squares become tasks")
        ->check(CLI::Range(0, 16))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        std::uint64_t solutions = 0;
        rt.run([&] { solutions = examples::nqueens({n}, task_rows); });
        examples::report report;
        report.add("n", n);
        report.add("solutions", solutions);
        report.add_stats(rt.stats());
        report.print(program.json());
        return solutions == examples::nqueens_solutions[n];
    });
}
