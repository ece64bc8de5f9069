// A pipeline with one item on its way.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <optional>

int main() {
#ifdef MENDED
    constexpr int tokens = 16;
#else
    constexpr int tokens = 1;
#endif
    int made = 0;
    double sum = 0;
    weft::pipeline line(
        weft::stage::serial_in_order(
            [&]() -> std::optional<int> { return made < 1000 ? std::optional(made++) : std::nullopt; }),
        weft::stage::parallel([](int i) { return compute(300 * us, i); }), // AT no_parallelism
        weft::stage::serial_in_order([&](double x) { sum += x; }));
    line.run(tokens); // FAULT no_parallelism
    std::printf("%g\n", sum);
}
