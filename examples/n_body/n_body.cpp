#include "n_body.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 8192, block = 512, steps = 4;
    std::string accesses = "readwrite";
    examples::program program("Particles that attract each other, in blocks, by all pairs.",
                              "n_body --n 16384 --accesses commutative");
    program.add_check_accesses();
    auto& options = program.options();
    options.add_option("--n", n, "particles")->check(CLI::Range(1U, 1U << 20))->capture_default_str();
    options.add_option("--block", block, "particles of a block")
        ->check(CLI::Range(1U, 1U << 20))
        ->capture_default_str();
    options.add_option("--steps", steps, "time steps")->check(CLI::Range(0U, 10000U))->capture_default_str();
    options.add_option("--accesses", accesses, "how the tasks of pairs say that they change forces")
        ->check(CLI::IsMember({"readwrite", "commutative"}))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::n_body bodies(n, block, program.seed()), expected(n, block, program.seed());
        const auto momentum_before = bodies.momentum();
        auto rt = program.make_runtime();
        const std::size_t tasks = rt.run([&] {
            weft::graph dag(program.graph_options());
            for (std::size_t step = 0; step < steps; ++step) {
                if (accesses == "readwrite") {
                    bodies.add_step(dag, [](auto forces) { return weft::readwrite(forces); });
                } else {
                    bodies.add_step(dag, [](auto forces) { return weft::commutative(forces); });
                }
            }
            dag.run();
            return dag.size();
        });
        auto stats = rt.stats();

        for (std::size_t step = 0; step < steps; ++step) expected.serial_step();
        const double difference = examples::largest_difference(bodies, expected);
        double gained = 0; // momentum
        for (std::size_t i = 0; i < 3; ++i) {
            gained = std::fmax(gained, std::fabs(bodies.momentum()[i] - momentum_before[i]));
        }

        examples::report report;
        report.add("n", n);
        report.add("graph tasks", tasks);
        report.add("accesses", accesses);
        report.add("difference", difference);
        report.add("momentum", gained);
        report.add_stats(stats);
        report.print(program.json());
        // Velocities and the whole momentum are about 1.
        return (accesses == "readwrite" ? difference == 0 : difference < 1e-12) && gained < 1e-12;
    });
}
