#include "knapsack.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 60, task_items = 20;
    examples::program program("The 0-1 knapsack problem by branch and bound.",
                              "knapsack --n 60 --task-items 30");
    program.options().add_option("--n", n, "items")->check(CLI::Range(1U, 1000U))->capture_default_str();
    program.options()
        .add_option("--task-items", task_items, "items whose decisions become tasks")
        ->check(CLI::Range(0U, 1000U))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        const auto items = examples::make_items(n, program.seed());
        const std::uint32_t limit = examples::half_the_weight(items);
        auto rt = program.make_runtime();
        std::uint32_t value = 0;
        rt.run([&] { value = examples::knapsack(items, task_items).best_value(limit); });

        examples::report report;
        report.add("n", n);
        report.add("limit", limit);
        report.add("value", value);
        report.add_stats(rt.stats());
        report.print(program.json());
        return value == examples::knapsack_by_weights(items, limit);
    });
}
