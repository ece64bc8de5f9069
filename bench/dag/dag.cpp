// Graphs of empty tasks: built and run once, and run again.
//   shape=wavefront|layered n=1024 keys=objects|data|after workers=1
#include "../common/peak_memory.hpp"
#include "../common/runtimes.hpp"
#include "../common/sample.hpp"
#include "../common/timing.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace {

struct built {
    std::unique_ptr<weft::graph> dag = std::make_unique<weft::graph>();
    std::vector<std::uint32_t> objects;
    std::unique_ptr<weft::datum[]> data;
};

/// n x n tasks; each waits for the one above and the one on its left.
built wavefront(std::size_t n, const std::string& keys) {
    built b;
    weft::graph& dag = *b.dag;
    const auto task = [] {};
    if (keys == "objects") {
        b.objects.resize(n * n);
        auto& x = b.objects;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t at = i * n + j;
                dag.add(task, weft::read(x[i ? at - n : at]), weft::read(x[j ? at - 1 : at]),
                        weft::write(x[at]));
            }
    } else if (keys == "data") {
        b.data = std::make_unique<weft::datum[]>(n * n);
        auto& x = b.data;
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                const std::size_t at = i * n + j;
                dag.add(task, weft::read(x[i ? at - n : at]), weft::read(x[j ? at - 1 : at]),
                        weft::write(x[at]));
            }
    } else {
        std::vector<weft::graph_task> above(n), left(1);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                above[j] =
                    dag.add(task, weft::after(above[j]), weft::after(j ? above[j - 1] : weft::graph_task()));
    }
    return b;
}

/// n layers of n tasks, each after three of the layer before, drawn by seed.
built layered(std::size_t n) {
    built b;
    std::mt19937 random(1);
    std::vector<weft::graph_task> before, now(n);
    for (std::size_t layer = 0; layer < n; ++layer) {
        for (auto& t : now)
            t = before.empty()
                    ? b.dag->add([] {})
                    : b.dag->add([] {}, weft::after(before[random() % n]), weft::after(before[random() % n]),
                                 weft::after(before[random() % n]));
        before = now;
    }
    return b;
}

} // namespace

int main(int argc, char** argv) {
    return bench::take_sample(argc, argv, [](const bench::arguments& given, bench::sample& s) {
        const auto n = static_cast<std::size_t>(given.number("n", 1024));
        const std::string shape = given.text("shape", "wavefront"), keys = given.text("keys", "objects");
        const int workers = given.number("workers", 1);
        weft::runtime rt(bench::with_workers(workers));
        const double tasks = static_cast<double>(n) * static_cast<double>(n);
        const auto measure = [&] {
            built b;
            const double whole = bench::time_ns([&] {
                rt.run([&] {
                    b = shape == "layered" ? layered(n) : wavefront(n, keys);
                    b.dag->run();
                });
            });
            const double again = bench::best_ns(3, [&] { rt.run([&] { b.dag->run(); }); });
            s.add("tasks_per_second", tasks * 1e9 / whole);
            s.add("task", whole / tasks);
            s.add("again", again / tasks);
            s.add("mb", bench::peak_mb());
            s.check(b.dag->size() == n * n);
        };
        if (workers > 1)
            s.with_both_cores(measure);
        else
            measure();
    });
}
