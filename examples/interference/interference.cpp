#include "interference.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t megabytes = 64;
    examples::interference_sizes sizes{.tasks = 40, .steps = 90'000, .turns = 16'000, .records = 8000};
    examples::program program("Tasks that compute, take a lock, and read at random.",
                              "interference --resources examples/interference/resources.toml");
    program.add_resources("");
    auto& options = program.options();
    const auto add = [&](const char* name, std::size_t& value, const char* help, std::size_t most) {
        options.add_option(name, value, help)->check(CLI::Range(std::size_t{1}, most))->capture_default_str();
    };
    add("--tasks", sizes.tasks, "tasks of each of the three kinds", 100'000);
    add("--steps", sizes.steps, "what a task computes, about 3.5 ns a step", 1U << 30);
    add("--turns", sizes.turns, "how often a task takes the lock", 1U << 30);
    add("--mbytes", megabytes, "the table", 65'536);
    add("--records", sizes.records, "of 512 bytes that a task reads", 1U << 30);

    return program.main(argc, argv, [&] {
        sizes.bytes = megabytes << 20;
        auto rt = program.make_runtime();
        examples::interference tasks(sizes);
        rt.run([&] {
            weft::graph dag;
            tasks.add_to(dag, program.seed());
            dag.run();
        });
        auto stats = rt.stats();
        bool right = tasks.is_right();

        examples::report report;
        report.add("tasks a kind", sizes.tasks);
        report.add("right", right);
        report.add_stats(stats);
        report.print(program.json());
        return right;
    });
}
