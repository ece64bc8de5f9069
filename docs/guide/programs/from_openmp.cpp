#include <weft/weft.hpp>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

int main() {
    constexpr std::size_t n = 100'000;
    std::vector<double> x(n, 0.5);

    // #pragma omp parallel for schedule(dynamic, 64): a loop; it finds its own grain.
    weft::parallel_for(std::size_t{0}, n, [&](std::size_t i) { x[i] *= static_cast<double>(i % 4); });

    // reduction(+ : sum): the same bits in every run, whatever the number of workers.
    const double sum = weft::parallel_reduce(x, 0.0, [](double value) { return value; }, std::plus<>());
    std::printf("sum: %.1f\n", sum);

    // sections
    std::size_t halves = 0, ones = 0;
    const auto count = [&](double value) {
        return weft::parallel_reduce(
            x, std::size_t{0}, [=](double v) { return std::size_t{v == value}; }, std::plus<>());
    };
    weft::parallel_invoke([&] { halves = count(0.5); }, [&] { ones = count(1.0); });
    std::printf("halves: %zu, ones: %zu\n", halves, ones);

    // threadprivate: a generator for each worker. critical: a mutex, which may be held across a wait.
    weft::per_worker<std::minstd_rand> generator;
    weft::mutex lock;
    std::size_t heads = 0, tails = 0;
    weft::parallel_for(0, 1000, [&](int) {
        const bool is_head = generator.local()() % 2 == 0;
        const std::scoped_lock held(lock);
        ++(is_head ? heads : tails);
    });
    std::printf("tosses: %zu\n", heads + tails);

    // task depend(out : a), task depend(in : a) depend(out : b), ...: a graph, which can run again.
    int a = 0, b = 0, c = 0;
    weft::graph dag;
    dag.add([&] { a = 20; }, weft::write(a));
    dag.add([&] { b = a + 1; }, weft::read(a), weft::write(b));
    dag.add([&] { c = a + 2; }, weft::read(a), weft::write(c));
    dag.add([&] { a = b + c; }, weft::read(b), weft::read(c), weft::write(a));
    dag.run();
    std::printf("graph: %d\n", a);

    // An exception may leave a loop, a group or a graph. In OpenMP it may not leave the region.
    try {
        weft::parallel_for(0, 1000, [](int i) {
            if (i == 500) throw std::runtime_error("iteration 500");
        });
    } catch (const std::exception& e) { std::printf("caught: %s\n", e.what()); }
}
