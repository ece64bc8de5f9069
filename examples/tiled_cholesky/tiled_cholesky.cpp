#include "tiled_cholesky.hpp"

#include "../common/example.hpp"
#include "nested.hpp"

#include <algorithm>
#include <map>
#include <string>

int main(int argc, char** argv) {
    std::size_t n = 4096, side = examples::blas_tile, block = 1;
    examples::block_teams teams;
    std::string where = "machine";
    const std::map<std::string, weft::within> places = {{"machine", weft::within::machine},
                                                        {"package", weft::within::package},
                                                        {"memory_node", weft::within::memory_node},
                                                        {"cache", weft::within::cache}};
    examples::program program("Cholesky factorisation of a dense matrix by tiles, as a graph of tasks.",
                              "tiled_cholesky --n 8192 --tile 512 --block 4 --team 2");
    program.add_check_accesses();
    examples::add_tile_options(program, n, side);
    auto& options = program.options();
    options
        .add_option(
            "--block", block,
            "tiles in a row of a block; if not 1, each task is for a block and runs a graph of its own")
        ->check(CLI::Range(1U, 16384U))
        ->capture_default_str();
    options
        .add_option("--team", teams.size,
                    "workers that the task of a block has for itself, at most all; 0: none")
        ->check(CLI::Range(0, 65536))
        ->capture_default_str();
    options.add_option("--within", where, "machine, package, memory_node, cache: where these workers are")
        ->check(CLI::IsMember(places))
        ->capture_default_str();
    options
        .add_option("--open-ends", teams.open_ends,
                    "so many of the first and of the last tasks of blocks share all workers")
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        if (block == 1 && teams.size != 0) throw examples::usage_error("--team is for a --block above 1");
        examples::blas_in_calling_thread();
        teams.where = places.at(where);
        examples::tiled_matrix a(n, side, block);
        auto rt = program.make_runtime();
        teams.size = std::min(teams.size, rt.workers());
        rt.run([&] { examples::tiled_spd_fill(a, program.seed()); });
        examples::mixing_log log(static_cast<std::size_t>(rt.workers()));
        const std::size_t tasks = rt.run([&] {
            weft::graph dag(program.graph_options());
            examples::nested_cholesky nested(a, teams, program.graph_options(), log);
            if (block == 1)
                examples::add_cholesky(dag, a);
            else
                nested.add_to(dag);
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();
        double residual = examples::tiled_cholesky_residual(a, program.seed());

        auto size = static_cast<double>(n);
        examples::report report;
        report.add("n", n);
        report.add("graph tasks", tasks);
        if (block != 1) {
            report.add("small tasks", log.ran());
            report.add("mixed", log.mixed());
        }
        report.add("residual", residual);
        report.add("gflops", size * size * size / 3 / stats.seconds / 1e9);
        report.add_stats(stats);
        report.print(program.json());
        return residual < 1e-15 + 1e-16 * size;
    });
}
