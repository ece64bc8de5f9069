#include "fft.hpp"

#include "../common/example.hpp"
#include "../common/random.hpp"

int main(int argc, char** argv) {
    unsigned log_n = 20;
    std::size_t leaf = examples::fft_leaf;
    examples::program program("Fast Fourier transform of random numbers.", "fft --log-n 24");
    program.options()
        .add_option("--log-n", log_n, "binary logarithm of how many numbers")
        ->check(CLI::Range(0U, 28U))
        ->capture_default_str();
    program.options()
        .add_option("--leaf", leaf, "numbers transformed, or combined in pairs, by one task")
        ->check(CLI::Range(1U, 1U << 28))
        ->capture_default_str();

    return program.main(argc, argv, [&] {
        const std::size_t n = std::size_t{1} << log_n;
        std::vector<examples::complex_number> numbers(n);
        for (std::size_t i = 0; i < n; ++i) {
            numbers[i] = {examples::random_from_minus_1_to_1(program.seed(), 2 * i),
                          examples::random_from_minus_1_to_1(program.seed(), 2 * i + 1)};
        }
        auto spectrum = numbers, reference = numbers;
        examples::fft transform(n, leaf);
        auto rt = program.make_runtime();
        rt.run([&] { transform(spectrum); });

        transform.serially(reference);
        const bool same = spectrum == reference;
        double error = 0;
        for (std::size_t k = 0; k < 5; ++k) {
            const std::size_t f = examples::random_at(program.seed() + 1, k) % n;
            error = std::fmax(error, (spectrum[f] - examples::frequency(numbers, f)).square());
        }
        error = std::sqrt(error / static_cast<double>(n)); // the square of a frequency is about n

        examples::report report;
        report.add("n", n);
        report.add("same as serial", same);
        report.add("error", error);
        report.add_stats(rt.stats());
        report.print(program.json());
        return same && error < 1e-10;
    });
}
