#include "checkers.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    int plies = 9, task_plies = 4;
    examples::program program("Draughts: the value of the first position, all courses of play looked at.",
                              "checkers --plies 10");
    program.options()
        .add_option("--plies", plies, "how far to look ahead")
        ->check(CLI::Range(0, 10))
        ->capture_default_str();
    program.options()
        .add_option("--task-plies", task_plies, "plies whose moves become tasks")
        ->check(CLI::Range(0, 10))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::checkers_value value{};
        auto rt = program.make_runtime();
        rt.run([&] { value = examples::checkers_search({}, plies, task_plies); });

        const examples::checkers_value reference = examples::checkers_serial({}, plies);
        const bool same = value.best == reference.best && value.looked_at == reference.looked_at;

        examples::report report;
        report.add("plies", plies);
        report.add("positions", value.positions);
        report.add("value", value.best);
        report.add("same as serial", same);
        report.add_stats(rt.stats());
        report.print(program.json());
        return same && value.positions == examples::checkers_positions[static_cast<std::size_t>(plies)];
    });
}
