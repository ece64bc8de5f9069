#include <weft/weft.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

/// Blocks of memory are copied, and numbers are computed beside that: one needs memory, the other does not.
int main() {
    constexpr std::size_t tasks = 48, block = 250'000;
    std::vector<double> from(tasks * block, 1.0), to(tasks * block);
    std::vector<double> number(tasks);

    weft::graph dag;
    for (std::size_t t = 0; t < tasks; ++t) {
        double* const source = &from[t * block];
        double* const target = &to[t * block];
        dag.add(
            [=] {
                weft::touch(source, block * sizeof(double), weft::access::read);
                weft::touch(target, block * sizeof(double), weft::access::write);
                weft::cost(block / 4); // cycles
                for (std::size_t i = 0; i < block; ++i) target[i] = source[i];
            },
            weft::name("copy"), weft::write(*target));
    }
    for (double& n : number) {
        dag.add(
            [&n] {
                weft::cost(2'000'000);
                for (int i = 1; i < 250'000; ++i) n += 1.0 / i / i;
            },
            weft::name("compute"), weft::write(n));
    }
    dag.run();

    double sum = 0;
    for (const double x : to) sum += x;
    std::printf("copied %.0f numbers\n", sum);
}
