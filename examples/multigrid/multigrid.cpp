#include "multigrid.hpp"

#include "../common/preempted_program.hpp"

#include <cmath>
#include <numbers>
#include <vector>

int main(int argc, char** argv) {
    std::size_t log_side = 4, boxes = 2, threads = 4, count = 10;
    examples::preempted_program program(
        "Multigrid in a cube of boxes: a team of threads with boxes of their own, and a barrier after every "
        "step.",
        "multigrid --log-side 5 --boxes 4 --threads 8 --cycles 20 --workers 3");
    auto& options = program.options();
    options.add_option("--log-side", log_side, "a box has 2^log-side cells in each direction")
        ->check(CLI::Range(1U, 8U))
        ->capture_default_str();
    options.add_option("--boxes", boxes, "boxes in each direction")
        ->check(CLI::Range(1U, 16U))
        ->capture_default_str();
    options.add_option("--threads", threads, "threads of the team; each has about as many boxes")
        ->check(CLI::Range(1U, 4096U))
        ->capture_default_str();
    options.add_option("--cycles", count, "cycles from the finest boxes to the coarsest and back")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::multigrid grid(log_side, boxes), serial(log_side, boxes);
        std::vector<double> residuals(count), expected(count);
        auto rt = program.make_runtime();
        rt.run([&] {
            examples::run_team(threads, program.barrier(), program.type(),
                               [&](const examples::team_member& me) { grid.cycles(me, count, residuals); });
        });
        const auto stats = rt.stats();
        examples::team_barrier alone(1, examples::meeting::spin);
        serial.cycles({0, 1, alone}, count, expected);

        const double error = grid.largest_error();
        examples::report report;
        report.add("threads", threads);
        report.add("preempt", program.preempt());
        report.add("residual", residuals.back());
        report.add("error", error);
        report.add("serial bits", grid.has_same_bits(serial) && residuals == expected);
        report.add_stats(stats);
        report.print(program.json());
        // A cycle leaves less than a fifth of the residual; that of u = 0 is f, at most 3 pi^2. The discrete solution
        // differs from the other one by less than (pi h)^2 / 4.
        constexpr double pi = std::numbers::pi;
        const double left = std::pow(0.2, static_cast<double>(count));
        const bool converges = residuals.back() <= 3 * pi * pi * left + 1e-9;
        return grid.has_same_bits(serial) && residuals == expected && converges &&
               error <= pi * pi * grid.step() * grid.step() / 4 + left;
    });
}
