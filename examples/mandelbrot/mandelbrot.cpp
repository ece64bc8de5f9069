#include "mandelbrot.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t side = 1024, leaf_rows = 8;
    std::uint32_t most_steps = 1000;
    examples::program program("The Mandelbrot set, by rows.", "mandelbrot --side 4096 --steps 1000");
    auto& options = program.options();
    options.add_option("--side", side, "rows and columns of points")
        ->check(CLI::Range(1U, 1U << 15))
        ->capture_default_str();
    options.add_option("--steps", most_steps, "after which a point counts as one of the set")
        ->check(CLI::Range(1U, 1U << 30))
        ->capture_default_str();
    options.add_option("--leaf-rows", leaf_rows, "rows that are not divided further")
        ->check(CLI::Range(1U, 1U << 15))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        examples::mandelbrot_picture picture{side, most_steps}, reference{side, most_steps};
        auto rt = program.make_runtime();
        rt.run([&] { examples::mandelbrot(picture, leaf_rows); });

        reference.draw(0, side);
        const bool same = picture.steps == reference.steps;
        const double error = std::fabs(picture.area() - examples::mandelbrot_area);

        examples::report report;
        report.add("side", side);
        report.add("same as serial", same);
        report.add("area", picture.area());
        report.add_stats(rt.stats());
        report.print(program.json());
        return same && error < examples::mandelbrot_area_tolerance(picture);
    });
}
