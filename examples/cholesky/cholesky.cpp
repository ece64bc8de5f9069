#include "cholesky.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 4096, leaf = examples::cholesky_leaf;
    examples::program program("Cholesky factorisation of a dense matrix, divide and conquer.",
                              "cholesky --n 8192 --policy near");
    program.options()
        .add_option("--n", n, "rows and columns")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();
    program.options()
        .add_option("--leaf", leaf, "largest block side that is not divided")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::lower_triangle a(n);
        auto rt = program.make_runtime();
        rt.run([&] { examples::spd_fill(a, program.seed()); });
        rt.run([&] { examples::cholesky(a, leaf); });
        auto stats = rt.stats();
        double residual = examples::cholesky_residual(a, program.seed());

        auto size = static_cast<double>(n);
        examples::report report;
        report.add("n", n);
        report.add("residual", residual);
        report.add("gflops", size * size * size / 3 / stats.seconds / 1e9);
        report.add_stats(stats);
        report.print(program.json());
        return residual < 1e-15 + 1e-16 * size;
    });
}
