#include "../common/example.hpp"

#include <cstdint>
#include <vector>

// What thread packing and preemption are measured with: parallel regions of equal tasks that only compute.

namespace {

/// So many steps of a generator of random numbers (xorshift64, G. Marsaglia, 2003), which no compiler can skip.
std::uint64_t compute(std::uint64_t state, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

} // namespace

int main(int argc, char** argv) {
    int tasks = 0, regions = 1;
    std::uint64_t steps = 1'000'000, cycles = 0;
    examples::program program("Parallel regions, one after the other, of equal tasks that only compute.",
                              "equal_tasks --tasks 16 --regions 10");
    program.options()
        .add_option("--tasks", tasks, "in each region (default: one for each worker)")
        ->check(CLI::Range(1, 1'000'000));
    program.options()
        .add_option("--regions", regions)
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    program.options().add_option("--steps", steps, "that each task takes")->capture_default_str();
    program.options().add_option(
        "--cycles", cycles,
        "that each task is said to cost, for modelled machines (default: 6 for each step)");

    return program.main(argc, argv, [&] {
        constexpr std::uint64_t cycles_of_a_step =
            6; // three shifts and three operations, each waits for the one before
        auto rt = program.make_runtime();
        if (tasks == 0) tasks = rt.workers();
        if (cycles == 0) cycles = steps * cycles_of_a_step;
        std::vector<std::uint64_t> results(static_cast<std::size_t>(tasks));
        rt.run([&] {
            for (int region = 0; region < regions; ++region) {
                weft::task_group all;
                for (int i = 0; i < tasks; ++i)
                    all.run([&results, steps, cycles, i] {
                        auto& result = results[static_cast<std::size_t>(i)];
                        weft::cost(cycles);
                        result = compute(static_cast<std::uint64_t>(i) + 1, steps);
                    });
                all.wait();
            }
        });
        bool right = true;
        for (int i = 0; i < tasks; i += 1 + tasks / 4)
            right = right &&
                    results[static_cast<std::size_t>(i)] == compute(static_cast<std::uint64_t>(i) + 1, steps);

        examples::report report;
        report.add_stats(rt.stats());
        report.print(program.json());
        return right;
    });
}
