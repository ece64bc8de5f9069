// Three faults: one thread reads numbers from a text, the inner one of two loops is parallel, and tasks sleep.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int numbers = 400'000, width = 8, rows = 6000;

/// Lines of seven digits.
std::vector<char> text_of_numbers() {
    std::vector<char> text(std::size_t{numbers} * width + 1);
    for (std::size_t i = 0; i + 1 < text.size(); ++i)
        text[i] = i % width == width - 1 ? '\n' : static_cast<char>('0' + i % 7);
    return text;
}

double number(const std::vector<char>& text, int line) {
    return std::strtod(text.data() + std::size_t{width} * static_cast<std::size_t>(line),
                       nullptr); // AT serial
}

double sum_of(const std::vector<char>& text) {
#if IS_MENDED(1)
    return weft::parallel_reduce(
        0, numbers, 0.0, [&](int i) { return number(text, i); }, [](double x, double y) { return x + y; });
#else
    double sum = 0;
    for (int i = 0; i < numbers; ++i) sum += number(text, i); // FAULT serial
    return sum;
#endif
}

} // namespace

int main() {
    std::vector<double> data(rows * 32, 1.0);
    const std::vector<char> text = text_of_numbers();
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += sum_of(text);
#if IS_MENDED(2)
    weft::parallel_for(0, rows, [&](int row) {
        for (int i = 0; i < 32; ++i) data[static_cast<std::size_t>(32 * row + i)] += compute(us);
    });
#else
    for (int row = 0; row < rows; ++row)
        weft::parallel_for(0, 32, [&](int i) { // FAULT short_runs
            data[static_cast<std::size_t>(32 * row + i)] += compute(us);
        });
#endif
    weft::parallel_for(0, 60,
                       [&](int i) {
#if IS_MENDED(3)
                           weft::this_task::sleep_for(2ms);
#else
            std::this_thread::sleep_for(2ms); // FAULT blocking
#endif
                           data[static_cast<std::size_t>(i)] += compute(ms);
                       },
                       {.grain = 1});
    std::printf("%g\n", data[7] + sum);
}
