#include "dam_break.hpp"

#include "../common/example.hpp"

namespace {

template <std::size_t D>
bool break_and_check(const examples::program& program, std::size_t side, int steps) {
    examples::dam_break<D> water(side), reference(side);
    const double before = water.height();
    auto rt = program.make_runtime();
    rt.run([&] { water.run(steps); });

    reference.run_serially(steps);
    const bool same = same_values(water, reference), inside = water.all_inside();
    const double force_error = water.force_error(), density_error = water.density_error(20);

    examples::report report;
    report.add("particles", water.particles());
    report.add("steps", steps);
    report.add("same as serial", same);
    report.add("density error", density_error);
    report.add("force error", force_error);
    report.add("front", water.front());
    report.add("height", water.height());
    report.add_stats(rt.stats());
    report.print(program.json());
    return same && inside && density_error < 1e-12 && force_error < 1e-12 && water.height() < before;
}

} // namespace

int main(int argc, char** argv) {
    unsigned directions = 3;
    std::size_t side = 30;
    int steps = 20;
    examples::program program("A dam breaks: interactions of particles, by an octree.",
                              "dam_break --directions 2 --side 300 --steps 1000 --policy near");
    auto& options = program.options();
    options.add_option("--directions", directions, "of space: 2 or 3")
        ->check(CLI::Range(2U, 3U))
        ->capture_default_str();
    options.add_option("--side", side, "particles along each side of the dam")
        ->check(CLI::Range(2U, 4096U))
        ->capture_default_str();
    options.add_option("--steps", steps, "time steps")->check(CLI::Range(1, 1 << 20))->capture_default_str();

    return program.main(argc, argv, [&] {
        if (directions == 2) return break_and_check<2>(program, side, steps);
        return break_and_check<3>(program, side, steps);
    });
}
