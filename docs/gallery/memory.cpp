#include <weft/weft.hpp>

#include <cstdio>
#include <functional>
#include <vector>

/// A dot product: two loads for each multiplication, so memory is the limit and not the cores.
int main() {
    constexpr std::size_t n = 1 << 20;
    std::vector<float> x(n, 0.5F), y(n, 2.0F);
    const double dot = weft::parallel_reduce_range(
        std::size_t{0}, n, 0.0,
        [&](std::size_t begin, std::size_t end, double sum) {
            weft::touch(&x[begin], (end - begin) * sizeof(float), weft::access::read);
            weft::touch(&y[begin], (end - begin) * sizeof(float), weft::access::read);
            weft::cost((end - begin) / 4);
            for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(x[i] * y[i]);
            return sum;
        },
        std::plus<>(), {.grain = 1 << 14});
    std::printf("dot product: %.0f\n", dot);
}
