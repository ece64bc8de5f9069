#include "sparse_lu.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t blocks = 40, side = 64;
    examples::program program("LU factorisation of a matrix of blocks most of which are not there.",
                              "sparse_lu --blocks 50 --side 100");
    auto& options = program.options();
    options.add_option("--blocks", blocks, "blocks in a row")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    options.add_option("--side", side, "rows and columns of a block")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::sparse_matrix a(blocks, side), expected(blocks, side);
        auto rt = program.make_runtime();
        rt.run([&] {
            examples::sparse_lu_fill(a, program.seed());
            examples::sparse_lu_fill(expected, program.seed());
        });
        const std::size_t before = examples::count_blocks(a);
        const std::size_t tasks = rt.run([&] {
            weft::graph dag;
            examples::add_sparse_lu(dag, a);
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();

        examples::sparse_lu_serial(expected);
        bool same = examples::same_blocks(a, expected);
        double residual = examples::sparse_lu_residual(a, program.seed());

        examples::report report;
        report.add("n", a.size());
        report.add("blocks before", before);
        report.add("blocks after", examples::count_blocks(a));
        report.add("graph tasks", tasks);
        report.add("same as serial", same);
        report.add("residual", residual);
        report.add_stats(stats);
        report.print(program.json());
        return same && residual < 1e-15 + 1e-16 * static_cast<double>(a.size());
    });
}
