#include "integrate.hpp"

#include "../common/example.hpp"

#include <cmath>

int main(int argc, char** argv) {
    double width = 1e-3, tolerance = 1e-6;
    std::uint64_t cycles = examples::simpson_cycles;
    examples::program program("Adaptive integration of a function with a peak, one fork an interval.",
                              "integrate --width 1e-4 --tolerance 1e-9");
    program.options().add_option("--width", width, "of the peak")->check(CLI::Range(1e-6, 1.0));
    program.options().add_option("--tolerance", tolerance, "of the integral")->check(CLI::Range(1e-14, 1.0));
    program.options()
        .add_option("--cycles", cycles, "that an interval is said to cost, for modelled machines")
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        const examples::peak f{width};
        const double exact = f.integral(0, 1);
        auto rt = program.make_runtime();
        double result = 0;
        rt.run([&] { result = examples::integral(f, tolerance, cycles).over(0, 1); });

        examples::report report;
        report.add("integral", result);
        report.add("error", result - exact);
        report.add_stats(rt.stats());
        report.print(program.json());
        return std::abs(result - exact) <= 100 * tolerance + 1e-12 * exact;
    });
}
