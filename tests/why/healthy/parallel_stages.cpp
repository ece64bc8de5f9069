// A pipeline whose work is in a parallel stage.
#include "../work.hpp"

#include <weft/weft.hpp>

#include <optional>

int main() {
    int made = 0;
    double sum = 0;
    weft::pipeline line(weft::stage::serial([&]() -> std::optional<int> {
                            return made < 1500 ? std::optional(made++) : std::nullopt;
                        }),
                        weft::stage::parallel([](int i) { return compute(200 * us, i); }),
                        weft::stage::serial([&](double x) { sum += x; }));
    line.run(16);
    std::printf("%g\n", sum);
}
