// A pipeline whose serial stage does the work.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <optional>

int main() {
    int made = 0;
    double sum = 0;
    const auto work = [](int i) { return compute(300 * us, i); }; // AT no_parallelism
    weft::pipeline line(weft::stage::serial([&]() -> std::optional<int> {
                            return made < 600 ? std::optional(made++) : std::nullopt;
                        }),
#ifdef MENDED
                        weft::stage::parallel(work),
#else
                        weft::stage::serial(work), // FAULT no_parallelism
#endif
                        weft::stage::serial([&](double x) { sum += x; }));
    line.run(8);
    std::printf("%g\n", sum);
}
