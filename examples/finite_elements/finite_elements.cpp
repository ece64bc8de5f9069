#include "finite_elements.hpp"

#include "../common/compare.hpp"
#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t elements = 24, block = 4, steps = 20;
    std::string accesses = "readwrite";
    examples::program program("Waves in a box by spectral finite elements: gather, process, scatter.",
                              "finite_elements --elements 40 --accesses commutative");
    program.add_check_accesses();
    auto& options = program.options();
    options.add_option("--elements", elements, "elements on each side of the box")
        ->check(CLI::Range(1U, 200U))
        ->capture_default_str();
    options.add_option("--block", block, "columns of elements on each side of a block")
        ->check(CLI::Range(1U, 200U))
        ->capture_default_str();
    options.add_option("--steps", steps, "time steps")->check(CLI::Range(0U, 10000U))->capture_default_str();
    options.add_option("--accesses", accesses, "how the tasks that scatter say that they add to forces")
        ->check(CLI::IsMember({"readwrite", "concurrent", "commutative"}))
        ->capture_default_str();
    bool one_datum = false;
    options.add_flag("--one-datum", one_datum, "the forces are one datum, not one for each part of the mesh");

    return program.main(argc, argv, [&] {
        examples::wave_mesh mesh(elements, block, program.seed(), one_datum),
            expected(elements, block, program.seed());
        auto rt = program.make_runtime();
        const std::size_t tasks = rt.run([&] {
            weft::graph dag(program.graph_options());
            for (std::size_t step = 0; step < steps; ++step) {
                if (accesses == "readwrite") {
                    mesh.add_step(dag, [](const auto& forces) { return weft::readwrite(forces); }, false);
                } else if (accesses == "concurrent") {
                    mesh.add_step(dag, [](const auto& forces) { return weft::concurrent(forces); }, true);
                } else {
                    mesh.add_step(dag, [](const auto& forces) { return weft::commutative(forces); }, false);
                }
            }
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();

        for (std::size_t step = 0; step < steps; ++step) expected.serial_step();
        const double difference =
            examples::largest_difference(mesh.displacements(), expected.displacements());
        const auto [momentum, sizes] = mesh.momentum();

        examples::report report;
        report.add("points", mesh.points());
        report.add("graph tasks", tasks);
        report.add("accesses", accesses);
        report.add("difference", difference);
        report.add("momentum", momentum);
        report.add_stats(stats);
        report.print(program.json());
        // Displacements are at most about 1.
        return (accesses == "readwrite" ? difference == 0 : difference < 1e-12) &&
               std::fabs(momentum) <= 1e-12 * sizes;
    });
}
