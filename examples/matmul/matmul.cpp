#include "matmul.hpp"

#include "../common/example.hpp"

int main(int argc, char** argv) {
    std::size_t n = 1024, leaf = 64;
    bool quarters = false;
    examples::program program("Matrix product, cache-oblivious divide and conquer.",
                              "matmul --n 2048 --policy steal");
    program.options()
        .add_option("--n", n, "rows and columns")
        ->check(CLI::Range(1U, 8192U))
        ->capture_default_str();
    program.options()
        .add_option("--leaf", leaf, "largest block side that is not divided")
        ->check(CLI::Range(1U, 8192U))
        ->capture_default_str();
    program.options().add_flag("--quarters", quarters,
                               "divide all three dimensions at once: twice four products");

    return program.main(argc, argv, [&] {
        const auto division =
            quarters ? examples::matmul_division::quarters : examples::matmul_division::halves;
        examples::matrix a(n, n), b(n, n), c(n, n);
        auto rt = program.make_runtime();
        rt.run([&] {
            examples::fill(a, program.seed());
            examples::fill(b, program.seed() + 1);
        });
        rt.run([&] { examples::multiply(a, b, c, leaf, division); });
        auto stats = rt.stats();

        bool right = examples::freivalds(a, b, c, program.seed() + 2);
        if (n <= 256) right = right && c.values == examples::multiply_serial(a, b).values;

        auto size = static_cast<double>(n);
        examples::report report;
        report.add("n", n);
        report.add("right", right);
        report.add("gflops", 2 * size * size * size / stats.seconds / 1e9);
        report.add_stats(stats);
        report.print(program.json());
        return right;
    });
}
