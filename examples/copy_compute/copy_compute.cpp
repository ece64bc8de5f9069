#include "copy_compute.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t copies = 20, megabytes = 100, computations = 60, steps = 3'000'000;
    examples::program program("Copies of memory beside computations.",
                              "copy_compute --resources examples/copy_compute/many_copies.toml");
    program.add_resources(WEFT_EXAMPLE_FOLDER "/resources.toml");
    auto& options = program.options();
    options.add_option("--copies", copies, "tasks that copy")
        ->check(CLI::Range(0U, 100000U))
        ->capture_default_str();
    options.add_option("--mbytes", megabytes, "what each copies; a worker keeps twice as much")
        ->check(CLI::Range(1U, 4096U))
        ->capture_default_str();
    options.add_option("--computations", computations, "tasks that compute")
        ->check(CLI::Range(0U, 100000U))
        ->capture_default_str();
    options.add_option("--steps", steps, "what each computes, about 3.5 ns a step")
        ->check(CLI::Range(0U, 1U << 30))
        ->capture_default_str();
    bool copies_first = false;
    options.add_flag("--copies-first", copies_first, "added before the computations, not among them");

    return program.main(argc, argv, [&] {
        auto rt = program.make_runtime();
        examples::copy_compute tasks(copies, megabytes << 20, computations, steps, rt.workers());
        weft::graph dag;
        rt.run([&] {
            tasks.add_to(dag, copies_first ? tasks.copies_first() : tasks.in_random_order(program.seed()));
            dag.run();
        });
        // The first run has got its memory from the system; this is the one that counts.
        rt.run([&] { dag.run(); });
        auto stats = rt.stats();
        bool right = tasks.is_right(2);

        examples::report report;
        report.add("copies", copies);
        report.add("computations", computations);
        report.add("right", right);
        report.add_stats(stats);
        report.print(program.json());
        return right;
    });
}
