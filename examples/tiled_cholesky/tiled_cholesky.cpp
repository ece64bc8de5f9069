#include "tiled_cholesky.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 4096, side = examples::blas_tile;
    examples::program program("Cholesky factorisation of a dense matrix by tiles, as a graph of tasks.",
                              "tiled_cholesky --n 8192 --tile 512");
    program.add_check_accesses();
    examples::add_tile_options(program, n, side);

    return program.main(argc, argv, [&] {
        examples::blas_in_calling_thread();
        examples::tiled_matrix a(n, side);
        auto rt = program.make_runtime();
        rt.run([&] { examples::tiled_spd_fill(a, program.seed()); });
        const std::size_t tasks = rt.run([&] {
            weft::graph dag(program.graph_options());
            examples::add_cholesky(dag, a);
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();
        double residual = examples::tiled_cholesky_residual(a, program.seed());

        auto size = static_cast<double>(n);
        examples::report report;
        report.add("n", n);
        report.add("graph tasks", tasks);
        report.add("residual", residual);
        report.add("gflops", size * size * size / 3 / stats.seconds / 1e9);
        report.add_stats(stats);
        report.print(program.json());
        return residual < 1e-15 + 1e-16 * size;
    });
}
