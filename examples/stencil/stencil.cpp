#include "stencil.hpp"

#include "../common/example.hpp"

namespace {

struct settings {
    examples::extents points;
    std::size_t sweeps, leaf_planes;
    examples::task_tree tree;
};

template <class Stencil>
bool sweep_and_check(const examples::program& program, const settings& s) {
    examples::block_of_points<Stencil> a(s.points), b(s.points);
    auto rt = program.make_runtime();
    rt.run([&] {
        weft::initialisation();
        examples::stencil_start(a, b, program.seed(), s.leaf_planes, s.tree);
    });
    rt.run([&] { examples::stencil(a, b, s.sweeps, s.leaf_planes, s.tree); });

    examples::report report;
    report.add("points", s.points.x * s.points.y * s.points.z);
    report.add("sweeps", s.sweeps);
    if (program.costs_only()) return report.print_costs(rt.stats(), program.json());

    examples::block_of_points<Stencil> c(s.points), d(s.points);
    examples::stencil_start(c, d, program.seed(), s.points.x);
    examples::stencil_serial(c, d, s.sweeps);
    const bool same = s.sweeps % 2 == 0 ? same_values(a, c) : same_values(b, d);
    const double error = examples::stencil_error<Stencil>();
    report.add("same as serial", same);
    report.add("error of squares", error);
    report.add_stats(rt.stats());
    report.print(program.json());
    return same && error < 1e-12;
}

} // namespace

int main(int argc, char** argv) {
    std::size_t x = 1024, y = 64, z = 64, sweeps = 20, leaf_planes = 8;
    unsigned stencil = 6;
    bool irregular = false;
    examples::program program("Sweeps of a stencil over a plane (9 points) or a block (6, 25 points).",
                              "stencil --points 25 --x 8096 --y 64 --z 64 --policy near");
    auto& options = program.options();
    options.add_option("--points", stencil, "of the stencil: 6, 9 or 25")
        ->check(CLI::IsMember({6U, 9U, 25U}))
        ->capture_default_str();
    const CLI::Range size(1U, 1U << 20);
    options.add_option("--x", x, "points in the direction that is divided")
        ->check(size)
        ->capture_default_str();
    options.add_option("--y", y, "points in the second direction")->check(size)->capture_default_str();
    auto* third = options.add_option("--z", z, "points in the third direction; none with 9 points");
    third->check(size)->capture_default_str();
    options.add_option("--sweeps", sweeps, "iterations")
        ->check(CLI::Range(0U, 1U << 20))
        ->capture_default_str();
    options.add_option("--leaf-rows", leaf_planes, "rows, or planes, that are not divided further")
        ->check(size)
        ->capture_default_str();
    options.add_flag("--irregular", irregular, examples::irregular_help);

    program.add_costs_only();

    return program.main(argc, argv, [&] {
        settings s{{x, y, z},
                   sweeps,
                   leaf_planes,
                   irregular ? examples::task_tree::irregular : examples::task_tree::regular};
        if (stencil == 6) return sweep_and_check<examples::six_points>(program, s);
        if (stencil == 25) return sweep_and_check<examples::twenty_five_points>(program, s);
        if (third->count() > 0) throw examples::usage_error("--z: a stencil of 9 points is of a plane");
        s.points = {x, 1, y};
        return sweep_and_check<examples::nine_points>(program, s);
    });
}
