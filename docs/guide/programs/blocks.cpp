#include <weft/weft.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

int main() {
    constexpr std::size_t blocks = 4, size = 100'000;
    std::array<std::vector<double>, blocks> data;
    std::array<double, blocks> sum{};
    double total = 0;

    weft::graph dag;
    for (std::size_t b = 0; b < blocks; ++b) {
        dag.add([&, b] { data[b].assign(size, static_cast<double>(b + 1)); }, weft::write(data[b]),
                weft::name("fill"));
        dag.add([&, b] { sum[b] = std::reduce(data[b].begin(), data[b].end()); }, weft::read(data[b]),
                weft::write(sum[b]), weft::name("sum"));
        dag.add([&, b] { total += sum[b]; }, weft::read(sum[b]), weft::commutative(total), weft::name("add"));
    }
    dag.add([&] { std::printf("total = %.0f\n", total); }, weft::read(total), weft::name("print"));

    dag.run();
    total = 0;
    dag.run(); // the same tasks once more
    std::printf("%zu tasks\n", dag.size());
}
