// Three faults: numbers are read from a file by one thread, the inner one of two loops is parallel, and tasks sleep.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr int numbers = 400'000;

std::FILE* file_with_numbers() {
    std::FILE* const file = std::tmpfile();
    if (!file) std::abort();
    for (int i = 0; i < numbers; ++i) std::fprintf(file, "%d.%d\n", i % 1000, i % 89);
    std::rewind(file);
    return file;
}

double read_all(std::FILE* file) {
    double sum = 0;
    char line[64];
    while (std::fgets(line, sizeof line, file)) sum += std::strtod(line, nullptr); // FAULT serial
    return sum;
}

} // namespace

int main() {
    std::vector<double> data(2000 * 32, 1.0);
    double sum = 0;
#if IS_MENDED(1)
    sum = 3; // as if it came in a form that needs no parsing
#else
    std::FILE* const file = file_with_numbers(); // AT serial
    sum = read_all(file);
    std::fclose(file);
#endif
#if IS_MENDED(2)
    weft::parallel_for(0, 2000, [&](int row) {
        for (int i = 0; i < 32; ++i) data[static_cast<std::size_t>(32 * row + i)] += compute(us);
    });
#else
    for (int row = 0; row < 2000; ++row)
        weft::parallel_for(0, 32, [&](int i) { // FAULT short_runs
            data[static_cast<std::size_t>(32 * row + i)] += compute(us);
        });
#endif
    weft::parallel_for(0, 100,
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
