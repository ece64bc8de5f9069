#include "wavefront.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 16384, block = 512;
    examples::program program("The best local alignment of two related sequences, by blocks.",
                              "wavefront --n 50000 --block 1000");
    program.add_check_accesses();
    auto& options = program.options();
    options.add_option("--n", n, "letters of the first sequence")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--block", block, "rows and columns of a block")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        const std::string a = examples::random_sequence(n, program.seed());
        const std::string b = examples::mutated(a, program.seed() + 1);
        examples::alignment alignment(a, b, block);
        auto rt = program.make_runtime();
        const std::size_t tasks = rt.run([&] {
            weft::graph dag(program.graph_options());
            alignment.add_to(dag);
            dag.run();
            return dag.size();
        });
        int best = 0;
        bool same = alignment.last_row() == examples::serial_alignment(a, b, best);
        same = same && alignment.best() == best;

        examples::report report;
        report.add("n", n);
        report.add("graph tasks", tasks);
        report.add("best score", alignment.best());
        report.add("same as serial", same);
        report.add_stats(rt.stats());
        report.print(program.json());
        return same;
    });
}
